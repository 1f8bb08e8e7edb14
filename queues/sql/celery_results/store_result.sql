-- store_result(key, value, keep_seconds): store the result of a task or a group of Celery under Celery's key, in place
-- of an earlier one. It is kept for keep_seconds; null or 0 keeps it until it is deleted. Index: celery_result_pkey.
create or replace function signalbox.store_result(
  key text, value bytea, keep_seconds double precision default null
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if store_result.value is null or octet_length(store_result.value) > 16777216 then
    perform signalbox._refuse('value', 'must have at most 16777216 bytes');
  end if;
  if store_result.key is null or length(store_result.key) not between 1 and 400 then
    perform signalbox._refuse('key', 'must have from 1 to 400 characters');
  end if;
  insert into signalbox.celery_result as r (key, value, expires_at)
  values (store_result.key, store_result.value, signalbox._result_end(store_result.keep_seconds))
  on conflict (key) do update set value = excluded.value, expires_at = excluded.expires_at;
end $$;
