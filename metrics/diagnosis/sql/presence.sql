-- Consumers that were here within the last hour and are no longer, when any was last seen, and how long the queue has been
-- paused. Consumers unseen for a day are forgotten. Index: consumer_pkey.
select
  q.queue_id,
  count(*) filter (
    where c.last_seen_at between clock_timestamp() - interval '1 hour' and clock_timestamp() - interval '60 seconds'
  ),
  date_part('epoch', clock_timestamp() - max(c.last_seen_at)),
  case when q.paused then greatest(date_part('epoch', clock_timestamp() - q.paused_at), 0) end
from signalbox.queue q
left join signalbox.consumer c on c.queue_id = q.queue_id
where q.queue_id = any(%(queue_ids)s)
group by q.queue_id
