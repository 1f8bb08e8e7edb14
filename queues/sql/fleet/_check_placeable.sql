-- Refuse a queue that cannot be placed on several cells: one that holds messages, is an end of a
-- subscription, or keeps dead letters (SB424).
create or replace function signalbox._check_placeable(queue text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue signalbox.queue;
begin
  select * into v_queue from signalbox.queue q where q.name = _check_placeable.queue;
  if not found then
    perform signalbox._refuse_unknown_queue(_check_placeable.queue);
  end if;
  perform signalbox._refuse_queue_in_use(v_queue);
end $$;
