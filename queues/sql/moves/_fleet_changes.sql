-- What changed in the directory after this version, as a JSON object for _fleet_copy.
create or replace function signalbox._fleet_changes(since bigint) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'home', d.home,
    'since', _fleet_changes.since,
    'version', d.version,
    'cells', coalesce((
      select jsonb_agg(to_jsonb(c)) from signalbox.fleet_cell c where c.version > _fleet_changes.since
    ), '[]'),
    'queues', coalesce((
      select jsonb_agg(to_jsonb(q)) from signalbox.fleet_queue q where q.version > _fleet_changes.since
    ), '[]'),
    'placements', coalesce((
      select jsonb_agg(to_jsonb(p)) from signalbox.fleet_placement p where p.version > _fleet_changes.since
    ), '[]')
  )
  from signalbox.fleet_directory d
$$;
