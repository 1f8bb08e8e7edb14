-- The message among the newest acknowledged ones of a queue that is most like another: of the same group first, then
-- with the same kind in its attributes, then the newest whose body is kept.
with acked as materialized (
  select s.message_ids, s.settled_at, s.consumer
  from signalbox.settled s
  where s.queue_id = %s and s.outcome = {outcome.acked}
  order by s.settled_at desc
  limit %s
), one as materialized (
  select m.message_id, a.settled_at, a.consumer
  from acked a, unnest(a.message_ids) m(message_id)
  order by a.settled_at desc, m.message_id desc
  limit %s
)
select o.message_id, o.settled_at, o.consumer, b.message_id is not null, b.body_sha256 is not null,
  b.payload, b.attributes, b.group_id, b.sent_at
from one o
left join signalbox.message b on b.queue_id = %s and b.message_id = o.message_id
order by (b.group_id = %s) desc nulls last,
  (exists (select from unnest(%s::text[]) k where b.attributes ->> k = %s::jsonb ->> k)) desc nulls last,
  b.message_id is null, o.settled_at desc, o.message_id desc
limit 1
