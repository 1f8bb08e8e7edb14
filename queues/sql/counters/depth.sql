-- depth(totals, state): how many messages are in a state, from totals: what events brought in less what they took out.
create or replace function signalbox.depth(totals bigint[], state text) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(case when e.to_state = depth.state then totals[e.event] else 0 end
    - case when e.from_state = depth.state then totals[e.event] else 0 end), 0)::bigint
  from signalbox.counter_event e
  where depth.state in (e.from_state, e.to_state)
$$;
