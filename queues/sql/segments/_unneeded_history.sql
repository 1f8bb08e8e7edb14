-- The partitions of history whose time is over.
create or replace function signalbox._unneeded_history() returns table (name text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with kept as materialized (
    select signalbox.history_kept() as history_kept
  ), kinds as (
    select p.parent, p.part, p.kept from kept k, lateral (values
      ('settled', interval '1 day', k.history_kept), ('failure', interval '1 day', k.history_kept),
      ('deferral', interval '1 day', k.history_kept),
      ('dedup', interval '6 hours', interval '25 hours'),
      ('stream_dedup', interval '6 hours', interval '25 hours'), ('inbox', interval '1 day', interval '7 days')
    ) p(parent, part, kept)
    union all
    select s.table_name, s.part, s.kept from signalbox._history_steps() s
  ), named as materialized ( -- otherwise the planner may read the names of other tables as times
    select c.relname::text as name, k.parent, k.part, k.kept
    from kinds k
    join pg_inherits i on i.inhparent = to_regclass('signalbox.' || k.parent)
    join pg_class c on c.oid = i.inhrelid and c.relname ~ '_(\d{8}|\d{10})$'
  ), partitions as (
    select n.name, n.parent, n.kept,
      to_timestamp(
        rpad(substring(n.name from '_(\d{8}|\d{10})$'), 10, '0'), 'YYYYMMDDHH24'
      )::timestamp at time zone 'UTC'
        + n.part as ends_at
    from named n
  )
  select p.name
  from partitions p
  where p.ends_at < clock_timestamp() - p.kept
    and not signalbox._archive_needs(p.name)
    and not exists (
      select
      from signalbox._history_steps() s
      cross join lateral signalbox._due_history(s.step_seconds, s.next_seconds) d
      where s.table_name = p.parent and s.next_seconds is not null and d.bucket_at < p.ends_at
    )
  order by p.ends_at
$$;
