-- Return whether a dead letter that is inserted comes from the trash: the id of a new dead letter was never used
-- before.
create or replace function signalbox._is_put_back(p_message_id bigint, p_dead_letter_id bigint) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select from signalbox.trash t
    where t.message_id = p_message_id and (t.letter ->> 'dead_letter_id')::bigint = p_dead_letter_id
  );
end $$;
