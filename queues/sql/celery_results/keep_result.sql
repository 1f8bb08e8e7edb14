-- keep_result(key, keep_seconds): keep a stored result of Celery for keep_seconds from now; null or 0 keeps it until it
-- is deleted. Returns false when there is none. Index: celery_result_pkey.
create or replace function signalbox.keep_result(key text, keep_seconds double precision) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  update signalbox.celery_result r
  set expires_at = signalbox._result_end(keep_result.keep_seconds)
  where r.key = keep_result.key;
  return found;
end $$;
