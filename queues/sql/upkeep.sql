-- upkeep(step): one call does one step and says what it did; null takes the next in turn, so that calling it from psql,
-- cron or pg_cron keeps a system alive with no process of ours. One step is one small transaction, and waits a second for a
-- lock at the most; the next call takes the next step. The claim floors are
-- not here: only a process that stays (manage.py upkeep) may move them. Without it claims do not use them, and while anybody
-- holds an old snapshot a claim walks over all that was consumed since: it gets slower for as long as the snapshot is held.
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
    when 'fold' then cardinality(signalbox.fold()) || ' queues'
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
    when 'weigh' then signalbox.weigh() || ' queues refuse'
    when 'log_warnings' then signalbox.log_warnings() || ' lines'
    when 'fold_clusters' then signalbox.fold_clusters() || ' deltas'
    when 'empty_cluster_deltas' then signalbox.empty_cluster_deltas() || ' slots'
    when 'forget_clusters' then signalbox.forget_clusters() || ' rows'
    when 'ensure_stream_segments' then cardinality(signalbox.ensure_stream_segments()) || ' segments'
    when 'drop_stream_segments' then cardinality(signalbox.drop_stream_segments()) || ' segments'
    when 'feed_queues' then signalbox.feed_queues() || ' messages'
    when 'record_group_history' then signalbox.record_group_history() || ' rows'
    when 'clean_streams' then signalbox.clean_streams() || ' rows'
    else signalbox._refuse_step(v_step, c_steps)
  end, 'another process is at it');
end $$;

create or replace function signalbox._refuse_step(p_step text, p_steps text[]) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._refuse('step', format('is %s: it must be one of %s', quote_literal(left(p_step, 60)), array_to_string(p_steps, ', ')));
  return null;
end $$;

-- The steps, in the order in which upkeep() takes them.
create or replace function signalbox.upkeep_steps() returns text[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select array[
    'notice_promotion', 'fold', 'return_and_promote', 'release_lanes', 'hint_lanes', 'forget_lanes', 'ensure_partitions', 'publish_log_end', 'expire_messages', 'empty_trash', 'record_history',
    'empty_deltas', 'summarize_history', 'clean_up', 'drop_history', 'drop_segments', 'drop_kept',
    'drop_lost_keys', 'weigh', 'log_warnings', 'fold_clusters', 'empty_cluster_deltas', 'forget_clusters',
    'ensure_stream_segments', 'drop_stream_segments', 'feed_queues', 'record_group_history', 'clean_streams', 'identify_tables'
  ]
$$;
