-- Take the locks that send_batch takes for these messages: of deduplication ids, then the turns of FIFO groups, each in
-- sorted order.
create or replace function signalbox._lock_batch(
  p_queue text, p_group_ids text[], p_deduplication_ids text[], p_count integer
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue record;
begin
  select q.queue_id, q.mode into v_queue from signalbox.queue q where q.name = p_queue;
  perform pg_advisory_xact_lock(v_queue.queue_id, k.lock)
  from (select distinct hashtext(d) as lock from unnest(p_deduplication_ids) d where d is not null order by 1) k;
  if v_queue.mode = 'fifo' then
    perform pg_advisory_xact_lock(k.turn)
    from (
      select distinct signalbox._fifo_turn(v_queue.queue_id, p_group_ids[i]) as turn from generate_series(1, p_count) i
        order by 1
    ) k;
  end if;
end $$;
