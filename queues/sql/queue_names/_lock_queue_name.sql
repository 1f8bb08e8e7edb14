-- Hold a queue's name until the transaction ends: for verbs that make or rename a queue. Waits for another holder.
create or replace function signalbox._lock_queue_name(p_name text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pg_advisory_xact_lock(hashtext('signalbox.make_queue'), hashtext(p_name))
$$;
