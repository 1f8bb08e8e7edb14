-- The sum of two arrays of counts, bucket by bucket; null counts nothing.
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
