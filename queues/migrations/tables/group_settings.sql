-- A subscription of a stream may be paused, and may delay each message in its queue.
alter table signalbox.consumer_group
  add column if not exists paused boolean not null default false,
  add column if not exists delay_seconds double precision;
