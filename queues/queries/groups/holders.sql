-- The first messages that hold permits of each of these message groups: state, consumer, and the deadline of the lease
-- or the time at which the message is due.
select l.lane, s.message_id,
  case when e.message_id is not null then 'leased' when d.message_id is not null then 'scheduled'
    when x.message_id is not null then 'dead' else 'ready' end,
  e.consumer, coalesce(e.deadline, d.due_at)
from unnest(%(lanes)s::text[]) l(lane)
cross join lateral (
  select s.message_id from signalbox.lane_slot s
  where s.queue_id = %(queue_id)s and s.lane = l.lane
  limit %(most)s
) s
left join signalbox.lease e on e.message_id = s.message_id
left join signalbox.scheduled d on d.message_id = s.message_id
left join signalbox.dead_letter x on x.message_id = s.message_id
order by l.lane, s.message_id
