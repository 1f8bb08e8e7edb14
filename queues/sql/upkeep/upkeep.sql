-- upkeep(step): do one step of upkeep, and return what it did; null takes the next step in turn. Calls from psql, cron
-- or pg_cron keep a system alive without a process of Signalbox. One step is one small transaction, and waits at most a
-- second for a lock; the next call takes the next step. Claim floors are not among the steps: only a process that stays
-- (manage.py upkeep) may move them. Without it claims do not use them, and while a transaction holds an old snapshot a
-- claim reads over all that was consumed since: it gets slower for as long as the snapshot is held.
create or replace function signalbox.upkeep(step text default null) returns text
language plpgsql
set lock_timeout = '1s'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  c_steps constant text[] := signalbox.upkeep_steps();
  v_step text := coalesce(upkeep.step, c_steps[nextval('signalbox.upkeep_turn') % cardinality(c_steps) + 1]);
begin
  return v_step || ': ' || coalesce(case v_step
    when 'notice_promotion' then coalesce('epoch ' || signalbox.notice_promotion(), 'as before')
    when 'aggregate_counters' then cardinality(signalbox.aggregate_counters()) || ' queues'
    when 'return_and_promote' then signalbox.return_and_promote(null) || ' messages'
    when 'release_lanes' then signalbox.release_lanes() || ' messages'
    when 'hint_lanes' then signalbox.hint_lanes() || ' lanes'
    when 'forget_lanes' then signalbox.forget_lanes() || ' lanes'
    when 'ensure_partitions' then cardinality(signalbox.ensure_partitions()) || ' partitions'
    when 'identify_tables' then cardinality(signalbox.identify_tables()) || ' tables'
    when 'publish_log_end' then 'log up to ' || signalbox.publish_log_end()
    when 'empty_trash' then signalbox.empty_trash() || ' messages'
    when 'expire_messages' then signalbox.expire_messages() || ' messages'
    when 'record_history' then signalbox.record_history() || ' rows'
    when 'empty_deltas' then signalbox.empty_deltas() || ' slots'
    when 'summarize_history' then signalbox.summarize_history() || ' ranges'
    when 'clean_up' then signalbox.clean_up() || ' rows'
    when 'drop_history' then cardinality(signalbox.drop_history()) || ' partitions'
    when 'drop_segments' then cardinality(signalbox.drop_segments()) || ' segments'
    when 'drop_kept' then signalbox.drop_kept() || ' bodies'
    when 'drop_lost_keys' then signalbox.drop_lost_keys() || ' ids'
    when 'estimate_sizes' then signalbox.estimate_sizes() || ' queues refuse'
    when 'log_warnings' then signalbox.log_warnings() || ' lines'
    when 'aggregate_failure_groups' then signalbox.aggregate_failure_groups() || ' deltas'
    when 'empty_failure_group_deltas' then signalbox.empty_failure_group_deltas() || ' slots'
    when 'forget_failure_groups' then signalbox.forget_failure_groups() || ' rows'
    when 'ensure_stream_segments' then cardinality(signalbox.ensure_stream_segments()) || ' segments'
    when 'drop_stream_segments' then cardinality(signalbox.drop_stream_segments()) || ' segments'
    when 'feed_queues' then signalbox.feed_queues() || ' messages'
    when 'record_group_history' then signalbox.record_group_history() || ' rows'
    when 'compact_streams' then signalbox.compact_streams() || ' messages'
    when 'clean_streams' then signalbox.clean_streams() || ' rows'
    else signalbox._refuse_step(v_step, c_steps)
  end, 'another process is at it');
end $$;
