-- Take the lock that _keep_queue shares, in order to delete a queue or change its mode. Returns false when another
-- transaction holds it, for this queue or for one with the same lock. Never waits.
create or replace function signalbox._claim_queue(p_queue_id integer) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pg_try_advisory_xact_lock(hashtext('signalbox.keep_queue'), signalbox._keep_place(p_queue_id))
$$;
