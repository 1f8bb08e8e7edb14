-- Wait until these transactions have ended, at most two seconds. Returns whether they have.
create or replace function signalbox._outlive(p_transactions text[]) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  c_patience constant interval := '2 s';
  c_pause_seconds constant double precision := 0.02;
  v_ends_at timestamptz := clock_timestamp() + c_patience;
begin
  while signalbox.open_transactions() && p_transactions loop
    if clock_timestamp() > v_ends_at then
      return false;
    end if;
    perform pg_sleep(c_pause_seconds);
  end loop;
  return true;
end $$;
