-- Make the counter of the bytes of a tenant's streams, once. Its sequences are not logged: it is measured again.
create or replace function signalbox._ensure_stream_bytes_counter(p_tenant_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_prefix text := format('signalbox.admission_t%s_stream_bytes_', p_tenant_id);
  v_register text;
begin
  if exists (select from signalbox.stream_bytes_counter c where c.tenant_id = p_tenant_id) then
    return;
  end if;
  foreach v_register in array array['held', 'measured'] loop
    execute format('create unlogged sequence if not exists %s minvalue 0', v_prefix || v_register);
    perform signalbox._copy_grants((v_prefix || v_register)::regclass, 'signalbox.register_grants');
  end loop;
  insert into signalbox.stream_bytes_counter (tenant_id, held, measured)
  values (p_tenant_id, (v_prefix || 'held')::regclass, (v_prefix || 'measured')::regclass)
  on conflict do nothing;
end $$;
