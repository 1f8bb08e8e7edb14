-- Discard the notes about message groups, and write a wake-up row for every group in which a message waits: a writer
-- that the horizon had skipped has ended, or the skipped writers are not known. The epoch moves first; a process that
-- has seen one of these wake-up rows reads the new epoch. Called by the leader of the claim floors.
create or replace function signalbox._distrust_lanes() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform nextval('signalbox.lane_epoch'::regclass);
  perform signalbox._hint_lanes(null, true);
end $$;
