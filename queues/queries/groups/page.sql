-- One page of the message groups of a queue, in alphabetical order, or the one group `only`: what waits, since when,
-- what is ready or in flight, and a limit of its own. Each step finds the next group in one of three indexes: groups
-- with messages waiting, with messages ready or in flight, or with a limit.
with recursive names as (
  select coalesce(%(only)s::text, signalbox.next_lane(%(queue_id)s, %(after)s)) as lane, 1 as n
  union all
  select signalbox.next_lane(%(queue_id)s, l.lane), l.n + 1
  from names l
  where l.lane is not null and l.n < %(size)s and %(only)s::text is null
)
select l.lane, c.waiting,
  (select w.waiting_since from signalbox.waiting w
    where w.queue_id = %(queue_id)s and w.lane = l.lane order by w.place limit 1),
  c.under_way,
  o.max_in_flight, o.max_waiting, o.release_interval_seconds
from names l
left join signalbox.lane_counts(%(queue_id)s, array(select n.lane from names n where n.lane is not null)) c using (lane)
left join signalbox.lane_limit o on o.queue_id = %(queue_id)s and o.lane = l.lane
where l.lane is not null
order by l.n
