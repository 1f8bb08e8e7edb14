-- Return how many messages of a queue are in each state, from its totals. Inlined by the planner: to add up the rows of
-- counter_event by name was most of the cost of history.
create or replace function signalbox._depths_of(totals bigint[])
returns table (ready bigint, scheduled bigint, waiting bigint, leased bigint, dead bigint, held bigint)
language sql immutable
begin atomic
  select
    {depth.ready:totals},
    {depth.scheduled:totals},
    {depth.waiting:totals},
    {depth.leased:totals},
    {depth.dead:totals},
    {depth.held:totals};
end;
