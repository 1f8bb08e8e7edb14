-- Counter deltas of message groups that a snapshot does not cover: messages that began or ceased to wait, and to be in
-- flight.
create or replace function signalbox._pending_lane_deltas(p_xmin bigint, p_xmax bigint, p_xip bigint[])
returns table (queue_id integer, lane text, waiting bigint, under_way bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select d.queue_id, d.lane,
    case when d.event = any({into.waiting}) then d.amount when d.event = any({out_of.waiting}) then -d.amount
      else 0 end,
    case d.event when {event.released_from_lane} then d.amount when {event.left_lane} then -d.amount else 0 end
  from signalbox.counter_delta d
  where d.txid >= (select signalbox._first_ended(p_xmax, p_xip)) and (d.txid >= p_xmax or d.txid = any(p_xip))
    and d.lane is not null
$$;
