-- A page of a location, whose own statement takes the place of the name in braces: the text of each document that may
-- hold the value, within the scope of the erasure.
select p.key, p.queue_id, p.message_id,
  case when o.applies and o.may_hold then d.text end,
  case when o.applies and %(document)s = 'payload' then p.body_sha256 end
from ({rows} limit %(limit)s) p (key, queue_id, message_id, payload, attributes, body_sha256, sent_at)
cross join lateral (
  select case %(document)s when 'payload' then p.payload::text else p.attributes::text end as text offset 0
) d
cross join lateral (
  select
    (%(queue_ids)s::int[] is null or p.queue_id = any(%(queue_ids)s::int[]))
    and (%(since)s::timestamptz is null or p.sent_at >= %(since)s::timestamptz)
    and (%(until)s::timestamptz is null or p.sent_at < %(until)s::timestamptz) as applies,
    strpos(d.text, %(needle)s) > 0 or strpos(d.text, %(other_needle)s) > 0 as may_hold
) o
order by p.key
