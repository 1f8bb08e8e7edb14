-- For each queue with messages that wait in lanes: the age of the oldest, the share of messages whose lane is held by a
-- dead letter, and the fullest lane with its numbers. The share and the fullest lane are found in a sample: the hundred
-- messages that have waited longest and the hundred newest. The numbers of that lane are exact (lane_counts). Indexes:
-- waiting_age, lane_slot_lane, dead_letter_message_id_key.
with seen as materialized (
  select q.queue_id, w.lane, count(*) as messages, max(w.age) as age
  from unnest(%(queue_ids)s::integer[]) q(queue_id)
  cross join lateral (
    select coalesce(max(signalbox.floor_time(h.floor)), '-infinity') as at
    from signalbox.claim_floor h
    where h.queue_id = q.queue_id and h.kind = {floor.waiting}
  ) f
  cross join lateral (
    (
      select o.lane, date_part('epoch', statement_timestamp() - o.waiting_since) as age
      from signalbox.waiting o
      where o.queue_id = q.queue_id and o.waiting_since >= f.at
      order by o.waiting_since, o.message_id
      limit 100
    )
    union all
    (
      select n.lane, 0
      from signalbox.waiting n
      where n.queue_id = q.queue_id and n.waiting_since >= f.at
      order by n.waiting_since desc, n.message_id desc
      limit 100
    )
  ) w
  group by q.queue_id, w.lane
), held as (
  select s.*, exists (
    select
    from (select l.message_id from signalbox.lane_slot l where l.queue_id = s.queue_id and l.lane = s.lane limit 3) l
    join signalbox.dead_letter d on d.message_id = l.message_id
  ) as by_dead
  from seen s
), summed as (
  select
    h.queue_id,
    max(h.age) as age,
    sum(h.messages) filter (where h.by_dead) / sum(h.messages) as dead_share,
    (array_agg(h.lane order by h.messages desc, h.lane))[1] as lane
  from held h
  group by h.queue_id
)
select s.queue_id, s.age, coalesce(s.dead_share, 0)::float8, s.lane, c.waiting, c.under_way
from summed s
cross join lateral signalbox.lane_counts(s.queue_id, array[s.lane]) c
