-- The deliveries of a message that count towards max_receives: all but those that its consumers deferred. Index:
-- message_state_pkey.
create or replace function signalbox._counted_receives(p_message_id bigint, p_receive_count integer) returns integer
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return p_receive_count - coalesce(
    (select s.deferrals from signalbox.message_state s where s.message_id = p_message_id), 0
  );
end $$;
