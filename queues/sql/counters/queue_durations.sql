-- queue_durations(queue_ids): how long the messages of each queue waited and were worked on since the queue was made,
-- as of the last aggregation (null: all queues). durations is null where nothing has been delivered. The difference of
-- two readings has the events in between.
-- durations[1..15] count first deliveries by wait, [16..30] acknowledgements by work time, each in its own bucket (not
-- cumulative; the 15th is for what took longer than the last bound). [31] and [32] are the sums of waits and of work in
-- milliseconds. [33] counts first deliveries within the wait target that the queue had then. Index: queue_stat_pkey.
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
    select s.durations from signalbox.queue_stat s where s.queue_id = q.queue_id order by s.aggregation_id desc limit 1
  ) s on true
  where queue_durations.queue_ids is null or q.queue_id = any(queue_durations.queue_ids);
end $$;
