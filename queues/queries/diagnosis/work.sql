-- How long the latest acknowledged work took, and the work before it, in milliseconds: the median over at most fifty
-- acknowledgements of the last ten minutes, and over the fifty before these ten minutes. Index: settled_recent.
select q.queue_id, now.acks, now.median, before.acks, before.median
from unnest(%(queue_ids)s::integer[]) q(queue_id)
cross join lateral (
  select count(*) as acks, percentile_cont(0.5) within group (order by w.ms) as median
  from (
    select s.work_ms
    from signalbox.settled s
    where s.queue_id = q.queue_id and s.outcome = {outcome.acked}
      and s.settled_at >= statement_timestamp() - interval '10 minutes'
    order by s.settled_at desc
    limit 50
  ) s
  cross join lateral unnest(s.work_ms[1:20]) w(ms)
) now
cross join lateral (
  select count(*) as acks, percentile_cont(0.5) within group (order by w.ms) as median
  from (
    select s.work_ms
    from signalbox.settled s
    where s.queue_id = q.queue_id
      and s.outcome = {outcome.acked}
      and s.settled_at < statement_timestamp() - interval '10 minutes'
      and s.settled_at >= statement_timestamp() - interval '1 day'
    order by s.settled_at desc
    limit 50
  ) s
  cross join lateral unnest(s.work_ms[1:20]) w(ms)
) before
