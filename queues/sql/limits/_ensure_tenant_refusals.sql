-- Make the counters of refusals of a tenant that are no sends.
create or replace function signalbox._ensure_tenant_refusals(p_tenant_id integer, p_reasons text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reason text;
begin
  foreach v_reason in array p_reasons loop
    continue when exists (
      select from signalbox.tenant_refusal r where r.tenant_id = p_tenant_id and r.reason = v_reason
    );
    execute format(
      'create sequence if not exists signalbox.%I minvalue 0 start 1',
      format('tenant_refused_%s_%s', p_tenant_id, v_reason)
    );
    perform signalbox._copy_grants(
      format('signalbox.tenant_refused_%s_%s', p_tenant_id, v_reason)::regclass, 'signalbox.register_grants'
    );
    insert into signalbox.tenant_refusal (tenant_id, reason, counter)
    values (p_tenant_id, v_reason, format('signalbox.tenant_refused_%s_%s', p_tenant_id, v_reason)::regclass)
    on conflict do nothing;
  end loop;
end $$;
