-- Consumers seen within the last hour but not within the last minute, seconds since any was seen and since the queue
-- was paused, messages that may still come in flight (null without a limit), and seconds until the next scheduled
-- message is due. Consumers unseen for a day are deleted. Indexes: consumer_pkey, lease_deadline, scheduled_due.
select
  q.queue_id,
  (
    select count(*)
    from signalbox.consumer c
    where c.queue_id = q.queue_id
      and c.last_seen_at between statement_timestamp() - interval '1 hour'
        and statement_timestamp() - interval '60 seconds'
  ),
  (
    select date_part('epoch', statement_timestamp() - max(c.last_seen_at))
    from signalbox.consumer c
    where c.queue_id = q.queue_id
  ),
  case when q.paused then greatest(date_part('epoch', statement_timestamp() - q.paused_at), 0) end,
  case when q.max_in_flight > 0 or t.max_in_flight > 0 then signalbox._free_in_flight(q.queue_id) end,
  (
    select date_part('epoch', s.due_at - statement_timestamp())
    from signalbox.scheduled s
    where s.queue_id = q.queue_id
      and s.due_at >= coalesce((
        select max(signalbox.floor_time(h.floor)) from signalbox.claim_floor h where h.queue_id = q.queue_id
          and h.kind = {floor.scheduled}
      ), '-infinity')
    order by s.due_at, s.message_id
    limit 1
  )
from signalbox.queue q
join signalbox.tenant t on t.tenant_id = q.tenant_id
where q.queue_id = any(%(queue_ids)s)
