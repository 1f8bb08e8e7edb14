-- Return how many more messages of a queue may be in flight, by its own limit and its tenant's. receive calls it where
-- queue.admission_flags says that there is one. Counts leases up to the limit; expired leases are about to return and
-- do not count. Two claims at the same moment do not see each other's leases, and may together take more. Index:
-- lease_deadline.
create or replace function signalbox._free_in_flight(p_queue_id integer) returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_tenant_id integer;
  v_queue_limit bigint;
  v_tenant_limit bigint;
  v_free bigint := 1000;
begin
  select q.tenant_id, q.max_in_flight, t.max_in_flight
  into v_tenant_id, v_queue_limit, v_tenant_limit
  from signalbox.queue q
  join signalbox.tenant t on t.tenant_id = q.tenant_id
  where q.queue_id = p_queue_id;
  if v_queue_limit > 0 then
    select least(v_free, v_queue_limit - count(*))
    into v_free
    from (
      select from signalbox.lease l where l.queue_id = p_queue_id and l.deadline > v_now limit v_queue_limit
    ) l;
  end if;
  if v_tenant_limit > 0 then
    select least(v_free, v_tenant_limit - count(*))
    into v_free
    from (
      select
      from signalbox.queue q
      join signalbox.lease l on l.queue_id = q.queue_id and l.deadline > v_now
      where q.tenant_id = v_tenant_id
      limit v_tenant_limit
    ) l;
  end if;
  return v_free;
end $$;
