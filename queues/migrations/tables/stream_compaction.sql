-- Compaction of streams: whether a stream keeps the newest message of each key, and how far each partition is
-- compacted.
alter table signalbox.stream add column if not exists compaction boolean not null default false;
alter table signalbox.stream_partition add column if not exists compacted_position bigint not null default 0;

-- The newest message of each key, up to the compacted positions. `tombstone`: its payload is null.
create table if not exists signalbox.stream_key (
  stream_id integer not null references signalbox.stream (stream_id),
  partition smallint not null,
  key text not null,
  position bigint not null,
  appended_at timestamptz not null,
  tombstone boolean not null,
  primary key (stream_id, key)
) with (fillfactor = 80);
create index if not exists stream_key_age on signalbox.stream_key (stream_id, appended_at);
create index if not exists stream_key_tombstones on signalbox.stream_key (stream_id, appended_at) where tombstone;
