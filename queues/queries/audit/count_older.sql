-- Number of the audit's rows from the oldest to the first one that is not older than a time, without the last row of
-- all.
select count(*)
from signalbox.audit_event e
where e.position < least(
  (select h.position from signalbox.audit_head h),
  coalesce((select min(y.position) from signalbox.audit_event y where y.at >= %(before)s), 9223372036854775807)
)
