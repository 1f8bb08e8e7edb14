-- Return buckets of a coarser step whose time is over and that miss rows of the finer step.
create or replace function signalbox._due_history(p_from_seconds integer, p_to_seconds integer)
returns table (bucket_at timestamptz, seconds integer, aggregation_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select f.bucket_at, f.seconds, f.aggregation_id
  from (
    select date_bin(p_to_seconds * interval '1 second', r.bucket_at, timestamptz '2000-01-01 00:00+00') as bucket_at,
      sum(r.seconds)::integer as seconds, max(r.aggregation_id) as aggregation_id
    from signalbox.history_record r
    where r.step_seconds = p_from_seconds
    group by 1
  ) f
  left join signalbox.history_record c on c.step_seconds = p_to_seconds and c.bucket_at = f.bucket_at
  where f.bucket_at <= clock_timestamp() - p_to_seconds * interval '1 second'
    and (c.aggregation_id is null or c.aggregation_id < f.aggregation_id)
$$;
