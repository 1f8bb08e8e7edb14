-- Return whether any of these limits on sending is set.
create or replace function signalbox._limits_sending(
  p_messages bigint, p_bytes bigint, p_age double precision, p_rate double precision
) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select p_messages > 0 or p_bytes > 0 or p_age > 0 or p_rate > 0
$$;
