-- Counter deltas that a snapshot does not cover. An acknowledgement's row of history is its own delta. An open
-- transaction shows nothing yet, so the search begins at the oldest transaction that has ended since: one that stays
-- open for hours does not make every aggregation read hours. ms: the waits of first deliveries and the work of
-- acknowledged messages, each in milliseconds.
create or replace function signalbox._pending_deltas(p_xmin bigint, p_xmax bigint, p_xip bigint[])
returns table (queue_id integer, event smallint, amount bigint, ms integer[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select d.queue_id, d.event, d.amount, d.waits_ms
  from signalbox.counter_delta d
  where d.txid >= (select signalbox._first_ended(p_xmax, p_xip)) and (d.txid >= p_xmax or d.txid = any(p_xip))
  union all
  select s.queue_id, {event.acked}, cardinality(s.message_ids)::bigint, s.work_ms
  from signalbox.settled s
  where s.txid >= (select signalbox._first_ended(p_xmax, p_xip)) and (s.txid >= p_xmax or s.txid = any(p_xip))
    and s.outcome = {outcome.acked}
$$;
