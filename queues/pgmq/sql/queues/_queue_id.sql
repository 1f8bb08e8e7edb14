-- Return the id of a queue. Raises SB404.
create or replace function pgmq._queue_id(p_queue_name text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue_id integer;
begin
  select q.queue_id into v_queue_id from signalbox.queue q where q.name = p_queue_name;
  if not found then
    return pgmq._queue_id(signalbox._renamed(p_queue_name));
  end if;
  return v_queue_id;
end $$;
