-- Return how often each event of a queue occurred, as history counts it, from its totals. Inlined by the planner.
create or replace function signalbox._totals_of(totals bigint[])
returns table (
  added bigint, removed bigint, published bigint, delivered bigint, redelivered bigint, acked bigint, nacked bigint,
  lease_expired bigint, dead_lettered bigint, deduplicated bigint, redriven bigint
)
language sql immutable
begin atomic
  select
    {total.added:totals},
    {total.removed:totals},
    {total.published:totals},
    {total.delivered:totals},
    {total.redelivered:totals},
    {total.acked:totals},
    {total.nacked:totals},
    {total.lease_expired:totals},
    {total.dead_lettered:totals},
    {total.deduplicated:totals},
    {total.redriven:totals};
end;
