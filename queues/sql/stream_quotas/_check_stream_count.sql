-- Refuse another stream beyond the tenant's max_streams. Two transactions that make a stream of one tenant take turns.
create or replace function signalbox._check_stream_count(p_tenant signalbox.tenant) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_streams bigint;
begin
  perform from signalbox.tenant t where t.tenant_id = p_tenant.tenant_id for no key update;
  select count(*) into v_streams from signalbox.stream s where s.tenant_id = p_tenant.tenant_id;
  if v_streams >= p_tenant.max_streams then
    perform signalbox._refuse_tenant(p_tenant, 'streams', 'max_streams', p_tenant.max_streams, v_streams + 1, null);
  end if;
end $$;
