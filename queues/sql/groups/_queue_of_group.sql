-- The queue of a message group, by its name; refuses an unknown queue and a group id that no message can have.
create or replace function signalbox._queue_of_group(p_queue text, p_group_id text) returns record
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue record;
begin
  select q.queue_id, q.mode, q.group_max_in_flight into v_queue from signalbox.queue q where q.name = p_queue;
  if not found then
    perform signalbox._refuse_unknown_queue(p_queue);
  end if;
  if p_group_id is null or octet_length(p_group_id) not between 1 and 1024 then
    perform signalbox._refuse('group_name', 'must have from 1 to 1024 bytes');
  end if;
  return v_queue;
end $$;
