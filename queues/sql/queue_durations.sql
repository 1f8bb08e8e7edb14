-- queue_durations(queue_ids): how long the messages of each queue waited and were worked on, ever, as of the last fold
-- (null: all queues; durations is null where nothing was delivered yet). Differences of two readings are what came between.
-- durations[1..15] are first deliveries by wait, [16..30] acknowledgements by work time, each in its own bucket (not
-- cumulative; bucket 15 is beyond the last bound); [31] and [32] are the sums of the waits and the work in milliseconds;
-- [33] are the first deliveries within the wait target that the queue had then. Index: queue_stat_pkey.
create or replace function signalbox.queue_durations(queue_ids integer[] default null)
returns table (queue_id integer, durations bigint[])
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select q.queue_id, s.durations
  from signalbox.queue q
  left join lateral (
    select s.durations from signalbox.queue_stat s where s.queue_id = q.queue_id order by s.fold_id desc limit 1
  ) s on true
  where queue_durations.queue_ids is null or q.queue_id = any(queue_durations.queue_ids);
end $$;

-- The upper bounds of the buckets in seconds; a bound is part of its bucket. A wait target is one of them.
create or replace function signalbox.duration_bounds() returns double precision[]
language sql immutable
begin atomic
  select array[0.005, 0.025, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 21600, 86400]::double precision[];
end;

-- The bucket of so many milliseconds, 1 to 15. Turned round, since width_bucket puts a bound into the bucket after it.
-- Inlined by the planner.
create or replace function signalbox._duration_bucket(p_ms integer) returns integer
language sql immutable
begin atomic
  select 15 - width_bucket(-p_ms::double precision, array[
    -86400000, -21600000, -3600000, -900000, -300000, -60000, -30000, -10000, -5000, -1000, -500, -100, -25, -5
  ]::double precision[]);
end;
