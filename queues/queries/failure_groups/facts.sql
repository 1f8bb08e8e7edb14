-- Facts of each failure group: merged fingerprints, reason, class, error and its template, frame, first and last death,
-- and when it regressed by which redrive; and the number of all deaths.
select r.head, array_remove(array_agg(distinct r.fingerprint), r.head),
  coalesce(max(r.reason) filter (where r.fingerprint = r.head), max(r.reason)),
  coalesce(max(r.error_class) filter (where r.fingerprint = r.head), max(r.error_class)),
  coalesce(max(r.error) filter (where r.fingerprint = r.head), max(r.error)),
  signalbox._normal_error(coalesce(max(r.error) filter (where r.fingerprint = r.head), max(r.error))),
  coalesce(max(r.frame) filter (where r.fingerprint = r.head), max(r.frame)),
  min(r.first_seen), max(r.last_seen), max(r.again_at),
  (max(array[extract(epoch from r.again_at), r.again_redrive_id]) filter (where r.again_at is not null))[2]::bigint,
  coalesce(sum(r.deaths), 0)::bigint
from (
  select p.head, p.fingerprint, c.reason, c.error_class, c.error, c.frame, c.first_seen, c.last_seen, c.again_at,
    c.again_redrive_id, c.deaths
  from part p
  left join signalbox.failure_cluster c on c.fingerprint = p.fingerprint
  union all
  select u.head, u.fingerprint, u.reason, u.error_class, u.error, u.frame, u.first_at, u.last_at, u.again_at,
    u.again_redrive_id, u.deaths
  from pending u
) r
group by r.head
having max(r.last_seen) is not null
