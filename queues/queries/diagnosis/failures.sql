-- The latest failures of each queue, at most a hundred of the last ten minutes: how many there are, the fingerprint and
-- the class that most of them have, and how many messages failed of that fingerprint. Index: failure_recent.
with latest as materialized (
  select q.queue_id, f.fingerprint, f.error_class, f.message_id
  from unnest(%(queue_ids)s::integer[]) q(queue_id)
  cross join lateral (
    select f.fingerprint, f.error_class, f.message_id
    from signalbox.failure f
    where f.queue_id = q.queue_id and f.failed_at >= statement_timestamp() - interval '10 minutes'
    order by f.failed_at desc
    limit 100
  ) f
), usual as (
  select
    l.queue_id,
    count(*) as failures,
    mode() within group (order by l.fingerprint) as fingerprint,
    mode() within group (order by l.error_class) as error_class
  from latest l
  group by l.queue_id
)
select
  u.queue_id,
  u.failures,
  u.fingerprint,
  (select count(*) from latest l where l.queue_id = u.queue_id and l.fingerprint = u.fingerprint),
  u.error_class,
  (select count(*) from latest l where l.queue_id = u.queue_id and l.error_class = u.error_class),
  (select count(distinct l.message_id) from latest l where l.queue_id = u.queue_id and l.fingerprint = u.fingerprint)
from usual u
