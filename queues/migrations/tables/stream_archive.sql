-- The last position of each partition that the archive has, with all before it.
alter table signalbox.stream_partition add column if not exists archived_position bigint not null default 0;
