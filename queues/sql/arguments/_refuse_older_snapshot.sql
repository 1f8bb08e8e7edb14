-- Raise SB425 where the snapshot of the transaction may miss a lease that is held: the verb would report the lease as
-- gone by mistake.
create or replace function signalbox._refuse_older_snapshot(p_verb text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation(p_verb || ', where a lease is not held or younger than the snapshot,');
  end if;
end $$;
