-- Delete the states of messages that are settled or dead.
create or replace function signalbox._forget_states(p_message_ids bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from signalbox.message_state s where s.message_id = any(p_message_ids);
end $$;
