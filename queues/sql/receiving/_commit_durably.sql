-- Let this transaction commit durably, although a claim in it asked for durable => false: verbs that promise durability
-- call this when the setting signalbox.durable_commit says how the transaction committed before the claim. A caller
-- that sets it by hand can only make its commit more durable. Writes of the transaction after such a claim cannot be
-- seen from here.
create or replace function signalbox._commit_durably() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := current_setting('signalbox.durable_commit', true);
begin
  perform set_config('signalbox.durable_commit', '', true);
  if current_setting('synchronous_commit') = 'off' and v_before in ('on', 'local', 'remote_write', 'remote_apply') then
    perform set_config('synchronous_commit', v_before, true);
  end if;
end $$;
