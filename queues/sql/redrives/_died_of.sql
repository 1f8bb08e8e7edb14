-- The cause of which a message had died when it was redriven, for redrives that did not record it. Index:
-- failure_message.
create or replace function signalbox._died_of(p_message_id bigint, p_redriven_at timestamptz) returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select f.fingerprint
    from signalbox.failure f
    where f.message_id = p_message_id and f.failed_at < p_redriven_at and f.retry_at is null
    order by f.failed_at desc
    limit 1
  );
end $$;
