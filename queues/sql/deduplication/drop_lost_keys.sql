-- drop_lost_keys(): release deduplication ids whose message no longer exists, five thousand a call. Such ids exist only
-- after a claim that began before the queue's dedup_scope changed. Reads all tickets once, as drop_kept does, so call
-- it rarely. Returns how many.
create or replace function signalbox.drop_lost_keys() returns bigint
language plpgsql
set enable_nestloop = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_dropped bigint;
begin
  if not exists (select from signalbox.dedup_in_flight) then
    return 0;
  end if;
  delete from signalbox.dedup_in_flight d
  where d.ctid = any(array(
    select k.ctid
    from signalbox.dedup_in_flight k
    where not exists (select from signalbox.lease l where l.message_id = k.message_id)
      and not exists (select from signalbox.scheduled s where s.message_id = k.message_id)
      and not exists (select from signalbox.ready r where r.message_id = k.message_id)
      and not exists (select from signalbox.waiting w where w.message_id = k.message_id)
    limit 5000
    for update of k skip locked
  ));
  get diagnostics v_dropped = row_count;
  return v_dropped;
end $$;
