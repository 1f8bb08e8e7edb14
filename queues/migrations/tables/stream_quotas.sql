-- Quotas of a tenant on its streams. 0: no limit.
alter table signalbox.tenant
  add column if not exists max_streams bigint not null default 0,
  add column if not exists max_stream_bytes bigint not null default 0;

-- Counters of the bytes that the streams of a tenant have on disk, for tenants with a quota of them.
create table if not exists signalbox.stream_bytes_counter (
  tenant_id integer primary key references signalbox.tenant (tenant_id),
  held regclass not null,
  measured regclass not null
);
