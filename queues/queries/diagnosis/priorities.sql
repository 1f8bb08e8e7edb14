-- How long the first ready message of each priority has waited, the highest priority first. Indexes: claim_floor_queue,
-- ready_claim.
select h.queue_id, array_agg(h.kind order by h.kind desc), array_agg(r.age order by h.kind desc)
from signalbox.claim_floor h
cross join lateral (
  select date_part('epoch', statement_timestamp() - t.ready_at) as age
  from signalbox.ready t
  where t.queue_id = h.queue_id and t.priority = h.kind and t.ready_at >= signalbox.floor_time(h.floor)
  order by t.ready_at, t.message_id
  limit 1
) r
where h.queue_id = any(%(queue_ids)s) and h.kind >= {priority.lowest}
group by h.queue_id
