-- The numbers that history keeps of one array of totals. Their places are those of counter_event, written out: adding
-- them up by name, for each queue and number, was most of what history cost. Each of these is inlined by the planner.

-- How many messages are in each state: ready, scheduled, waiting, leased, dead, held.
create or replace function signalbox._depths(t bigint[]) returns bigint[]
language sql immutable
begin atomic
  select array[
    t[1] + t[6] + t[11] + t[12] + t[14] + t[25] + t[28] + t[35] + t[40] - t[3] - t[15] - t[19],
    t[2] + t[7] + t[29] + t[41] - t[12] - t[16] - t[37],
    t[33] + t[37] + t[38] + t[39] + t[42] - t[34] - t[35] - t[36],
    t[3] + t[30] - t[5] - t[6] - t[7] - t[8] - t[9] - t[10] - t[11] - t[17] - t[25],
    t[8] + t[9] + t[10] + t[31] + t[43] - t[13] - t[18] - t[20] - t[24],
    t[22] + t[32] + t[44] - t[23] - t[26] - t[27]
  ];
end;

-- What ever happened: added, removed, published, delivered, redelivered, acked, nacked, lease_expired, dead_lettered,
-- deduplicated, redriven.
create or replace function signalbox._happened(t bigint[]) returns bigint[]
language sql immutable
begin atomic
  select array[
    t[1] + t[2] + t[33] + t[14] + t[38] + t[22] + t[28] + t[29] + t[30] + t[32] + t[39] + t[40] + t[41] + t[42] + t[44],
    t[5] + t[8] + t[9] + t[10] + t[15] + t[16] + t[17] + t[34] + t[19] + t[36] + t[23] + t[26] + t[27],
    t[1] + t[2] + t[33],
    t[3],
    t[4],
    t[5],
    t[6] + t[7] + t[8] + t[9],
    t[10] + t[11],
    t[8] + t[9] + t[10],
    t[21],
    t[13]
  ];
end;

-- What came between two readings of durations, by bucket, from place p_from on; null when that is nothing.
create or replace function signalbox._counts_between(p_now bigint[], p_before bigint[], p_from integer) returns bigint[]
language sql immutable
begin atomic
  select array_agg(n.counted - coalesce(p_before[p_from + n.place - 1], 0) order by n.place)
  from unnest(p_now[p_from:p_from + 14]) with ordinality n(counted, place)
  having bool_or(n.counted > coalesce(p_before[p_from + n.place - 1], 0));
end;

-- Counts by bucket added up; null is none.
create or replace function signalbox._add_counts(p_some bigint[], p_more bigint[]) returns bigint[]
language sql immutable
begin atomic
  select case
    when p_some is null then p_more
    when p_more is null then p_some
    else (
      select array_agg(s.counted + coalesce(p_more[s.place], 0) order by s.place)
      from unnest(p_some) with ordinality s(counted, place)
    )
  end;
end;
