-- Return whether a process keeps the claim floors at this moment. A term that ends much later was written by a clock
-- that was ahead.
create or replace function signalbox._is_led() returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select
    from signalbox.upkeep_leader l
    where l.expires_at > clock_timestamp() and l.expires_at < clock_timestamp() + interval '1 minute'
  )
$$;
