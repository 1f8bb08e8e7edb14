-- Raise SB429 for a quota of a tenant that concerns no sends, and count the refusal, which a rollback does not undo.
create or replace function signalbox._refuse_tenant(
  p_tenant signalbox.tenant,
  p_reason text,
  p_limit_name text,
  p_limit double precision,
  p_actual double precision,
  p_retry_after double precision
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform nextval(r.counter) from signalbox.tenant_refusal r where r.tenant_id = p_tenant.tenant_id
    and r.reason = p_reason;
  perform signalbox._refuse_quota(
    'tenant ' || quote_literal(p_tenant.name), 'tenant', p_reason, p_limit_name, p_limit, p_actual, p_retry_after
  );
end $$;
