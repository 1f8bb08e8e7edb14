-- How many messages the filter of each of these groups has skipped.
select p.group_id, sum(p.skipped)::bigint
from signalbox.group_partition p
where p.group_id = any(%s)
group by p.group_id
