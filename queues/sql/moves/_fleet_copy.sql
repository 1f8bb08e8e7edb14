-- Enter what _fleet_changes of the directory's home returned. Returns the version of this copy
-- afterwards. An older row never replaces a newer one: of cells the higher version counts, of placements the higher
-- epoch. A copy that lacks what changed before `since` keeps its version, so that it is asked for again.
create or replace function signalbox._fleet_copy(changes jsonb) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_copy signalbox.fleet_directory;
  v_queues text[];
begin
  select * into v_copy from signalbox.fleet_directory d for update; -- one copy at a time
  if (v_copy.home = changes ->> 'home' and v_copy.cell <> v_copy.home) is not true then
    perform signalbox._refuse('changes', 'are not of the fleet of this cell');
  end if;
  insert into signalbox.fleet_cell as c (name, url, region, version, added_at)
  select n.name, n.url, n.region, n.version, n.added_at
  from jsonb_populate_recordset(null::signalbox.fleet_cell, changes -> 'cells') n
  on conflict (name) do update
  set url = excluded.url, region = excluded.region, version = excluded.version
  where c.version < excluded.version;
  insert into signalbox.fleet_queue (queue, is_fifo, version)
  select n.queue, n.is_fifo, n.version
  from jsonb_populate_recordset(null::signalbox.fleet_queue, changes -> 'queues') n
  on conflict do nothing;
  with newer as (
    insert into signalbox.fleet_placement as p (queue, partition, cell, from_cell, state, epoch, version)
    select n.queue, n.partition, n.cell, n.from_cell, n.state, n.epoch, n.version
    from jsonb_populate_recordset(null::signalbox.fleet_placement, changes -> 'placements') n
    on conflict (queue, partition) do update
    set cell = excluded.cell, from_cell = excluded.from_cell, state = excluded.state, epoch = excluded.epoch,
      version = excluded.version
    where p.epoch < excluded.epoch
    returning p.queue
  )
  select array_agg(distinct n.queue) into v_queues from newer n;
  perform signalbox._note_placement(v_queues);
  update signalbox.fleet_directory d
  set version = greatest(d.version, (changes ->> 'version')::bigint), copied_at = clock_timestamp()
  where d.version >= (changes ->> 'since')::bigint;
  return (select d.version from signalbox.fleet_directory d);
end $$;
