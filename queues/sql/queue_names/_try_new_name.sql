-- Hold a queue's name until the transaction ends. Returns false if the name is taken, or an open transaction holds it;
-- never waits.
create or replace function signalbox._try_new_name(p_name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return pg_try_advisory_xact_lock(hashtext('signalbox.make_queue'), hashtext(p_name))
    and not signalbox._is_name_taken(p_name);
end $$;
