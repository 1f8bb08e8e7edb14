-- expired_segments(): segments of the log that only a few live messages may still need: those closed for longer than
-- history is kept.
create or replace function signalbox.expired_segments() returns setof bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select s.segment_number
  from signalbox.segment s
  where s.sealed_at < clock_timestamp() - signalbox.history_kept()
  order by s.segment_number
$$;
