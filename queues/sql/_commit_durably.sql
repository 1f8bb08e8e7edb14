-- What commits with a claim that asked for durable => false is durable all the same: verbs that promise it call this when the
-- transaction's setting signalbox.durable_commit says how it committed before the claim. Who sets that himself can only make
-- his commit more durable. A transaction's own writes after such a claim cannot be seen from here.
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
