-- Return whether this is the leader's token and no other process moves the claim floors. Holds the lock until the
-- transaction ends.
create or replace function signalbox._leads(p_token uuid) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return pg_try_advisory_xact_lock(hashtext('signalbox.floor'), 0)
    and exists (select from signalbox.upkeep_leader l where l.token = p_token and l.expires_at > clock_timestamp());
end $$;
