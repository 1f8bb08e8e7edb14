-- forget_writes(): drop stages that were not sent within a day, and writers that have written nothing for 90 days; at
-- most 1,000 rows of each a call. Returns how many. Indexes: staged_write_age, write_ledger_age.
create or replace function signalbox.forget_writes() returns bigint
language sql
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
  with stages as (
    delete from signalbox.staged_write w
    where (w.stage, w.place) in (
      select o.stage, o.place
      from signalbox.staged_write o
      where o.staged_at < clock_timestamp() - interval '1 day'
      order by o.staged_at
      limit 1000
      for update skip locked
    )
    returning 1
  ), writers as (
    delete from signalbox.write_ledger l
    where (l.writer, l.target) in (
      select o.writer, o.target
      from signalbox.write_ledger o
      where o.written_at < clock_timestamp() - interval '90 days'
      order by o.written_at
      limit 1000
      for update skip locked
    )
    returning 1
  )
  select (select count(*) from stages) + (select count(*) from writers)
$$;
