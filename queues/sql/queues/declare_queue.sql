-- declare_queue(name, settings, tenant): make a queue with these settings unless one of this name exists. Returns its
-- id. An existing queue keeps its settings and its tenant: they belong to the operators. Locks only the new rows.
create or replace function signalbox.declare_queue(name text, settings jsonb default '{}', tenant text default null)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
begin
  select q.queue_id into v_queue_id from signalbox.queue q where q.name = declare_queue.name;
  if found then
    return v_queue_id;
  end if;
  begin
    return signalbox.create_queue(declare_queue.name, declare_queue.settings, declare_queue.tenant);
  exception
    when sqlstate 'SB400' then
      -- Wrong settings, or another transaction has made it with other ones.
      select q.queue_id into v_queue_id from signalbox.queue q where q.name = declare_queue.name;
      if not found then
        raise;
      end if;
      return v_queue_id;
  end;
end $$;
