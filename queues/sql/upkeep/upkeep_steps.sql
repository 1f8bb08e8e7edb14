-- upkeep_steps(): return the names of the steps, in the order in which upkeep() takes them.
create or replace function signalbox.upkeep_steps() returns text[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select array[
    'notice_promotion', 'aggregate_counters', 'return_and_promote', 'release_lanes', 'hint_lanes', 'forget_lanes',
    'ensure_partitions', 'publish_log_end', 'expire_messages', 'empty_trash', 'record_history',
    'empty_deltas', 'summarize_history', 'clean_up', 'drop_history', 'drop_segments', 'drop_kept',
    'drop_lost_keys', 'estimate_sizes', 'log_warnings', 'aggregate_failure_groups', 'empty_failure_group_deltas',
    'forget_failure_groups',
    'ensure_stream_segments', 'drop_stream_segments', 'feed_queues', 'record_group_history', 'clean_streams',
    'compact_streams',
    'identify_tables'
  ]
$$;
