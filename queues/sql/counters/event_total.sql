-- event_total(totals, names): how often any of these events was counted.
create or replace function signalbox.event_total(totals bigint[], variadic names text[]) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(totals[e.event]), 0)::bigint from signalbox.counter_event e where e.name = any(event_total.names)
$$;
