-- Retention of a stream by bytes and by number, beside its age. 0: no limit.
alter table signalbox.stream
  add column if not exists retention_bytes bigint not null default 0,
  add column if not exists retention_messages bigint not null default 0;
