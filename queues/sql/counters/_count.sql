-- Append one counter delta. Takes no lock for which others wait; the aggregation sums deltas later.
create or replace function signalbox._count(p_queue_id integer, p_event smallint, p_amount bigint) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  insert into signalbox.counter_delta (queue_id, event, amount) select p_queue_id, p_event, p_amount where p_amount <> 0
$$;
