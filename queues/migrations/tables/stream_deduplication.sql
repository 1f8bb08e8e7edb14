-- For how long a stream remembers the deduplication ids of appends.
alter table signalbox.stream
  add column if not exists dedup_window_seconds double precision not null default 300;

-- Deduplication ids of appends within their window, partitioned by time so that old ones are dropped.
create table if not exists signalbox.stream_dedup (
  stream_id integer not null,
  deduplication_id text not null,
  partition smallint not null,
  position bigint not null,
  request_hash bytea not null,
  appended_at timestamptz not null,
  expires_at timestamptz not null
) partition by range (appended_at);
create index if not exists stream_dedup_key on signalbox.stream_dedup (stream_id, deduplication_id, appended_at);
create table if not exists signalbox.stream_dedup_default partition of signalbox.stream_dedup default;
