-- drop_kept(): delete bodies that were kept beyond their segment and that no live message needs, five thousand a call.
-- Reads all tickets once, since ready has no index on the message: call it rarely, and not in the loop that moves the
-- claim floors. Returns how many.
create or replace function signalbox.drop_kept() returns bigint
language plpgsql
set enable_nestloop = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_dropped bigint;
begin
  delete from signalbox.message_kept d
  where d.ctid = any(array(
    select k.ctid
    from signalbox.message_kept k
    where k.kept_at < clock_timestamp() - signalbox.history_kept()
      and not exists (select from signalbox.lease l where l.message_id = k.message_id)
      and not exists (select from signalbox.scheduled s where s.message_id = k.message_id)
      and not exists (select from signalbox.ready r where r.message_id = k.message_id)
      and not exists (select from signalbox.waiting w where w.message_id = k.message_id)
      and not exists (select from signalbox.trash t where t.message_id = k.message_id)
      and not exists (select from signalbox._unarchived_endings() u(message_id) where u.message_id = k.message_id)
    limit 5000
    for update of k skip locked  -- a redrive that needs some of them again locks them in another order
  ))
  -- Asked again of a row that a redrive may need by now: before 17.7 and 18.1 its ctid alone is not checked again.
  and d.kept_at < clock_timestamp() - signalbox.history_kept();
  get diagnostics v_dropped = row_count;
  return v_dropped;
end $$;
