-- count_part(key, part, keep_seconds): note that a part of a chord of Celery has ended, and return how many parts have.
-- A part that ends twice is counted once, so a task that ran twice does not complete a chord too early. Waits for
-- another part of the same chord that is being counted. Index: celery_part_pkey.
create or replace function signalbox.count_part(
  key text, part text, keep_seconds double precision default null
) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_parts bigint;
begin
  -- Two parts that end at once: each counts after the other's commit, so the last one sees all.
  insert into signalbox.celery_result as r (key, expires_at)
  values (count_part.key, signalbox._result_end(count_part.keep_seconds))
  on conflict (key) do update set expires_at = excluded.expires_at;
  insert into signalbox.celery_part (key, part)
  values (count_part.key, count_part.part)
  on conflict do nothing;
  select count(*) into v_parts from signalbox.celery_part p where p.key = count_part.key;
  return v_parts;
end $$;
