-- Count dead letters that leave the table, by fingerprint.
create or replace function signalbox._count_departures() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into signalbox.cluster_delta (fingerprint, queue_id, deaths, dead)
  select g.fingerprint, g.source_queue_id, 0, -count(*)
  from gone g
  group by g.fingerprint, g.source_queue_id;
  return null;
end $$;
