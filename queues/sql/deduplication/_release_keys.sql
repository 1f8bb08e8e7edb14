-- Release the deduplication ids of settled or dead messages. Only the holder of a message's ticket calls it, so it
-- never waits. Index: dedup_in_flight_message.
create or replace function signalbox._release_keys(p_message_ids bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from signalbox.dedup_in_flight k where k.message_id = any(p_message_ids);
end $$;
