-- Errors of failures that are not added to their failure groups yet.
select d.fingerprint, d.error
from signalbox.cluster_delta d
where d.error is not null and (%s::int[] is null or d.queue_id = any(%s::int[]))
