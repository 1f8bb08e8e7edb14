-- delete_results(keys): delete stored results of Celery, and the parts that were counted under these keys. Returns how
-- many. Index: celery_result_pkey.
create or replace function signalbox.delete_results(keys text[]) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_rows bigint;
begin
  delete from signalbox.celery_result r
  where r.key = any(array(
    select o.key from signalbox.celery_result o where o.key = any(delete_results.keys) order by o.key for update
  ));
  get diagnostics v_rows = row_count;
  return v_rows;
end $$;
