-- The state that the last nack of a message stored, or null.
create or replace function signalbox._state_of(p_message_id bigint) returns jsonb
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select s.state from signalbox.message_state s where s.message_id = p_message_id);
end $$;
