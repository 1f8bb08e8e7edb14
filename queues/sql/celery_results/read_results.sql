-- read_results(keys): the stored results of Celery under these keys. A key without a result, or with an expired one,
-- has no row. Index: celery_result_pkey.
create or replace function signalbox.read_results(keys text[]) returns table (key text, value bytea)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select r.key, r.value
  from signalbox.celery_result r
  where r.key = any(read_results.keys) and r.value is not null and r.expires_at > clock_timestamp();
end $$;
