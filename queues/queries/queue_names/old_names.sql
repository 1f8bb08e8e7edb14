-- Former names of a queue, the latest first, and when a program last used each.
select a.name, a.renamed_at, a.works_until, a.works_until > clock_timestamp(),
  to_timestamp(nullif(pg_sequence_last_value(a.last_used), 0))
from signalbox.queue_alias a
where a.queue_id = %s
order by a.renamed_at desc, a.name
