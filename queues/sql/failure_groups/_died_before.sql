-- Return whether a message died of this cause, or of one that was merged with it, before it was redriven. The last
-- failure before each redrive has no retry.
create or replace function signalbox._died_before(p_message_id bigint, p_fingerprint text, p_redriven_at timestamptz)
returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select from signalbox.failure f
    where f.message_id = p_message_id and f.failed_at < p_redriven_at and f.retry_at is null
      and signalbox._same_cause(f.fingerprint, p_fingerprint)
  );
end $$;
