-- Admit the bytes of appended messages, or refuse them: the quota that the stream's tenant has for the bytes of all its
-- streams on disk. Sizes are measured once a second, and what was admitted since is added, whichever commits first. No
-- appender waits for another's commit: the lock is held for the microseconds of a few sequence calls. append calls it
-- where stream.admission_flags says so. Indexes: tenant_pkey, stream_bytes_counter_pkey.
create or replace function signalbox._admit_stream_bytes(p_tenant_id integer, p_bytes bigint) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant signalbox.tenant;
  v_counter record;
  v_now bigint := signalbox._now_ns();
  v_measured bigint;
  v_held bigint;
begin
  select t.* into v_tenant from signalbox.tenant t where t.tenant_id = p_tenant_id and t.max_stream_bytes > 0;
  if not found then
    return;
  end if;
  select c.held, c.measured into v_counter from signalbox.stream_bytes_counter c where c.tenant_id = p_tenant_id;
  -- An older snapshot would miss new segments.
  if abs(v_now - signalbox._read_counter(v_counter.measured)) > 1000000000
    and current_setting('transaction_isolation') = 'read committed'
  then
    perform setval(v_counter.measured, v_now); -- others go on with the last value
    v_measured := signalbox._stream_bytes_of(p_tenant_id);
  end if;
  begin
    -- Released when this block is rolled back: at its end, or by an error.
    perform pg_advisory_xact_lock(hashtext('signalbox.stream_bytes_counter'), p_tenant_id);
    v_held := coalesce(v_measured, signalbox._read_counter(v_counter.held)) + p_bytes;
    if v_held <= v_tenant.max_stream_bytes or v_measured is not null then
      perform setval(v_counter.held, case when v_held <= v_tenant.max_stream_bytes then v_held else v_measured end);
    end if;
    raise exception using errcode = 'SB000';
  exception
    when sqlstate 'SB000' then
      null;
  end;
  if v_held > v_tenant.max_stream_bytes then
    perform signalbox._refuse_tenant(
      v_tenant, 'stream_bytes', 'max_stream_bytes', v_tenant.max_stream_bytes, v_held,
      case when p_bytes <= v_tenant.max_stream_bytes then 60 end
    );
  end if;
end $$;
