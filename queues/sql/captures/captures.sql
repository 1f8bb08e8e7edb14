-- captures(): each captured table with its stream, and how far the backfill is. A table that was dropped has no name.
create or replace function signalbox.captures() returns table (
  capture_id integer,
  table_name text,
  stream text,
  columns text[],
  key text[],
  filter text,
  created_at timestamptz,
  backfilled bigint,
  backfilled_at timestamptz
)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.capture_id, (select t.oid::regclass::text from pg_class t where t.oid = c.table_id), s.name, c.columns, c.key,
    c.filter, c.created_at, c.backfilled, c.backfilled_at
  from signalbox.capture c
  join signalbox.stream s using (stream_id)
  order by s.name, 2
$$;
