-- Return the difference of two readings of durations by bucket, from position p_from on; null when there is none.
create or replace function signalbox._counts_between(p_now bigint[], p_before bigint[], p_from integer) returns bigint[]
language sql immutable
begin atomic
  select array_agg(n.counted - coalesce(p_before[p_from + n.place - 1], 0) order by n.place)
  from unnest(p_now[p_from:p_from + {duration.buckets} - 1]) with ordinality n(counted, place)
  having bool_or(n.counted > coalesce(p_before[p_from + n.place - 1], 0));
end;
