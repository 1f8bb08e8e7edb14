-- The settings of a new stream.
create or replace function signalbox._stream_defaults() returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select '{
    "partitions": 4,
    "retention_seconds": 604800,
    "retention_bytes": 0,
    "retention_messages": 0,
    "compaction": false,
    "dedup_window_seconds": 300,
    "max_payload_bytes": 262144,
    "closed": false,
    "alert_group_lag_seconds": 300
  }'::jsonb
$$;
