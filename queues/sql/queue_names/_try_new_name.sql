-- Hold a name that is not taken, and that no open transaction takes. False otherwise; never waits.
create or replace function signalbox._try_new_name(p_name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return pg_try_advisory_xact_lock(hashtext('signalbox.make_queue'), hashtext(p_name))
    and not signalbox._is_name_taken(p_name);
end $$;
