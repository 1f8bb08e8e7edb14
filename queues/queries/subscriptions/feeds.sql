-- Subscriptions that feed these queues (null: all), of queues and of streams, with the messages that are still to come:
-- copies that are held, up to 10,001 of each subscription, or what the group has not read. Indexes:
-- queue_subscription_target, held_copy_pkey, and those of group_numbers.
select
  source.name,
  target.name,
  t.name,
  s.filter,
  s.delay_seconds,
  s.paused,
  h.held,
  h.oldest_held_at,
  coalesce(date_part('epoch', clock_timestamp() - h.oldest_held_at), 0),
  s.expired,
  '',
  null::integer,
  s.target_queue_id
from signalbox.queue_subscription s
join signalbox.queue source on source.queue_id = s.source_queue_id
join signalbox.tenant t on t.tenant_id = source.tenant_id
join signalbox.queue target on target.queue_id = s.target_queue_id
cross join lateral (
  select count(*) as held, min(c.held_at) as oldest_held_at
  from (
    select c.held_at from signalbox.held_copy c where c.subscription_id = s.subscription_id
    order by c.held_copy_id
    limit 10001
  ) c
) h
where s.target_queue_id = any(%(queue_ids)s::integer[]) or %(queue_ids)s::integer[] is null
union all
select
  s.name,
  q.name,
  t.name,
  g.filter,
  g.delay_seconds,
  g.paused,
  n.lag_messages,
  null,
  n.lag_seconds,
  0,
  g.name,
  g.queue_window,
  g.queue_id
from signalbox.consumer_group g
join signalbox.stream s using (stream_id)
join signalbox.tenant t using (tenant_id)
join signalbox.queue q on q.queue_id = g.queue_id
cross join lateral signalbox.group_numbers(array[g.group_id]) n
where g.queue_id = any(%(queue_ids)s::integer[]) or %(queue_ids)s::integer[] is null
