-- free_queue_name(name): release an old name, so that another queue may have it. Returns false when it was no old name.
create or replace function signalbox.free_queue_name(name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue signalbox.queue;
begin
  select q.* into v_queue
  from signalbox.queue_alias a
  left join signalbox.queue q on q.queue_id = a.queue_id
  where a.name = free_queue_name.name;
  perform signalbox._drop_alias(a) from signalbox.queue_alias a where a.name = free_queue_name.name;
  if not found then
    return false;
  end if;
  perform signalbox._audit_verb(
    'queue.free_name', v_queue.queue_id, v_queue.name, jsonb_build_object('name', free_queue_name.name)
  );
  return true;
end $$;
