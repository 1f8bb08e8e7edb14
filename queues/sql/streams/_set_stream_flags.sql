-- Keep stream.admission_flags right, whichever statement writes a stream's row, and apply what its tenant allows its
-- streams: as _set_admission_flags does for queues. A stream that no limit concerns has no flag, and its verbs do
-- nothing more. A trigger, with the owner's rights: a role that makes a stream has none on tenants.
create or replace function signalbox._set_stream_flags() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_tenant signalbox.tenant;
begin
  if tg_op = 'INSERT' then
    -- A quota that is being set waits for this stream, or this stream for the quota. Streams are created one at a time
    -- only where they are counted.
    perform from signalbox.tenant t where t.tenant_id = new.tenant_id and t.max_streams > 0 for no key update;
    if not found then
      perform from signalbox.tenant t where t.tenant_id = new.tenant_id for share;
    end if;
  end if;
  select * into v_tenant from signalbox.tenant t where t.tenant_id = new.tenant_id;
  if tg_op = 'INSERT' and v_tenant.max_streams > 0 then
    perform signalbox._check_stream_count(v_tenant);
  end if;
  if v_tenant.max_retention_seconds > 0 and new.retention_seconds > v_tenant.max_retention_seconds then
    if tg_op = 'INSERT' then
      new.retention_seconds := greatest(v_tenant.max_retention_seconds, 3600); -- the shortest of a stream
    elsif new.retention_seconds is distinct from old.retention_seconds then
      perform signalbox._refuse_tenant(
        v_tenant, 'retention', 'max_retention_seconds', v_tenant.max_retention_seconds, new.retention_seconds, null
      );
    end if;
  end if;
  new.admission_flags :=
    case when v_tenant.publish_rate_per_second > 0 or v_tenant.max_stream_bytes > 0 then {flag.limits_sending} else 0 end
    + signalbox._maintenance_flags(v_tenant.name);
  return new;
end $$;
revoke execute on function signalbox._set_stream_flags() from public;
create or replace trigger set_stream_flags before insert or update on signalbox.stream
  for each row execute function signalbox._set_stream_flags();
