-- Adapt archived history after a restore on a server whose transaction ids are behind (_rebase_counters): rows that are
-- archived get transaction 0, others 1, and the horizon lies between. Transaction ids of the two servers cannot be
-- distinguished, but archived rows were written before the horizon moved.
create or replace function signalbox._rebase_archive() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_horizon signalbox.archive_horizon;
begin
  select h.* into v_horizon from signalbox.archive_horizon h for update;
  if not found then
    return;
  end if;
  update signalbox.settled s
  set txid = case when s.txid < v_horizon.below and s.settled_at <= v_horizon.moved_at then 0 else 1 end;
  update signalbox.failure f
  set txid = case when f.txid < v_horizon.below and f.failed_at <= v_horizon.moved_at then 0 else 1 end;
  update signalbox.archive_horizon h set below = least(h.below, 1);
end $$;
