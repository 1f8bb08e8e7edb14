-- Make the sequences of a queue's or a tenant's admission counter, once. They are not logged: after a crash an
-- admission counter is evaluated again. The mean size is logged, since it is kept nowhere else.
create or replace function signalbox._ensure_admission_counter(p_queue_id integer, p_tenant_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_prefix text := 'admission_' || coalesce('q' || p_queue_id, 't' || p_tenant_id) || '_';
  v_register text;
begin
  if exists (select from signalbox.admission_counter g where g.queue_id = p_queue_id or g.tenant_id = p_tenant_id) then
    return;
  end if;
  foreach v_register in array array[
    'next_free', 'last_xid', 'admitted', 'base', 'bytes_held', 'oldest', 'evaluated', 'lost', 'mark_admitted',
    'mark_xid'
  ] loop
    execute format(
      'create unlogged sequence if not exists signalbox.%I minvalue -4000000000000000000', v_prefix || v_register
    );
    perform signalbox._copy_grants(
      format('signalbox.%I', v_prefix || v_register)::regclass, 'signalbox.register_grants'
    );
  end loop;
  execute format('create sequence if not exists signalbox.%I minvalue 0', v_prefix || 'mean_bytes');
  perform signalbox._copy_grants(
    format('signalbox.%I', v_prefix || 'mean_bytes')::regclass, 'signalbox.register_grants'
  );
  v_prefix := 'signalbox.' || v_prefix;
  insert into signalbox.admission_counter (
    queue_id, tenant_id, next_free, last_xid, admitted, base, bytes_held, mean_bytes, oldest, evaluated, lost,
    mark_admitted, mark_xid
  )
  values (
    p_queue_id, p_tenant_id, (v_prefix || 'next_free')::regclass, (v_prefix || 'last_xid')::regclass,
    (v_prefix || 'admitted')::regclass, (v_prefix || 'base')::regclass,
    (v_prefix || 'bytes_held')::regclass, (v_prefix || 'mean_bytes')::regclass, (v_prefix || 'oldest')::regclass,
    (v_prefix || 'evaluated')::regclass, (v_prefix || 'lost')::regclass,
    (v_prefix || 'mark_admitted')::regclass, (v_prefix || 'mark_xid')::regclass
  )
  on conflict do nothing;
  -- From here on admitted messages are distinguished from those that were there before.
  perform signalbox._evaluate(g.counter_id) from signalbox.admission_counter g where g.queue_id = p_queue_id
    or g.tenant_id = p_tenant_id;
end $$;
