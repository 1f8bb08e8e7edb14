-- Make a counter for each reason for which a send to this queue may be refused: sequences, since a refusal rolls back.
create or replace function signalbox._ensure_refusals(p_queue_id integer, p_reasons text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reason text;
begin
  foreach v_reason in array p_reasons loop
    continue when exists (select from signalbox.refusal r where r.queue_id = p_queue_id and r.reason = v_reason);
    execute format(
      'create sequence if not exists signalbox.%I minvalue 0 start 1', format('refused_%s_%s', p_queue_id, v_reason)
    );
    perform signalbox._copy_grants(
      format('signalbox.refused_%s_%s', p_queue_id, v_reason)::regclass, 'signalbox.register_grants'
    );
    insert into signalbox.refusal (queue_id, reason, counter)
    values (p_queue_id, v_reason, format('signalbox.refused_%s_%s', p_queue_id, v_reason)::regclass)
    on conflict do nothing;
  end loop;
end $$;
