-- Admit appended messages, or refuse them all: maintenance that refuses sends, and the rate that the stream's tenant
-- may publish, of which queues and streams take together. append calls it where stream.admission_flags says so.
create or replace function signalbox._admit_append(p_tenant_id integer, p_flags smallint, p_messages integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant signalbox.tenant;
  v_problem record;
begin
  if p_flags & {flag.refuses_sends} > 0 then
    perform signalbox._refuse_in_maintenance();
  end if;
  if p_flags & {flag.limits_sending} > 0 then
    v_problem := signalbox._reserve_rate(p_tenant_id, p_messages);
    if v_problem.allowed is not null then
      select * into v_tenant from signalbox.tenant t where t.tenant_id = p_tenant_id;
      perform signalbox._refuse_tenant(
        v_tenant, 'rate', 'publish_rate_per_second', v_problem.allowed, v_problem.actual, v_problem.retry_after
      );
    end if;
  end if;
end $$;
