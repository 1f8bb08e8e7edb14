-- The table of tickets with the most dead rows, its live ones, and how long ago it was last vacuumed: from
-- PostgreSQL's statistics, without a scan.
select
  c.relname::text,
  pg_stat_get_dead_tuples(c.oid),
  pg_stat_get_live_tuples(c.oid),
  date_part(
    'epoch',
    statement_timestamp() - greatest(pg_stat_get_last_autovacuum_time(c.oid), pg_stat_get_last_vacuum_time(c.oid))
  )
from pg_class c
where c.oid = any(array['signalbox.ready', 'signalbox.lease', 'signalbox.scheduled', 'signalbox.waiting']::regclass[])
order by 2 desc
limit 1
