-- Sample errors of failure groups behind a fingerprint, in the order of fingerprints.
select c.fingerprint, c.error
from signalbox.failure_cluster c
where c.fingerprint > %s
  and (%s::int[] is null or exists (
    select from signalbox.failure_cluster_queue q where q.fingerprint = c.fingerprint and q.queue_id = any(%s::int[])
  ))
order by c.fingerprint
limit %s
