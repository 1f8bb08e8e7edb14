-- expire_results(): delete results of Celery that have expired, at most 10,000 a call. Returns how many. Never waits.
-- Index: celery_result_expiry.
create or replace function signalbox.expire_results() returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rows bigint;
begin
  delete from signalbox.celery_result r
  where r.key = any(array(
    select o.key
    from signalbox.celery_result o
    where o.expires_at < clock_timestamp()
    order by o.expires_at
    limit 10000
    for update skip locked
  ));
  get diagnostics v_rows = row_count;
  return v_rows;
end $$;
