-- Return the first of these transactions whose work the current statement can see, its own included; otherwise p_xmax.
create or replace function signalbox._first_ended(p_xmax bigint, p_xip bigint[]) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(min(x), p_xmax)
  from unnest(p_xip) x
  where pg_visible_in_snapshot(x::text::xid8, pg_current_snapshot())
    or x = pg_current_xact_id_if_assigned()::text::bigint
$$;
