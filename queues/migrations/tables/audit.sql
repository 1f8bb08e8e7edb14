-- The audit chain: each event has the hash of the event before it (queues/sql/audit/_seal_audit.sql).

-- The last event's position and hash. One row.
create table signalbox.audit_head (
  only_row boolean primary key default true check (only_row),
  position bigint not null,
  hash bytea not null
);
insert into signalbox.audit_head (position, hash) values (0, decode(repeat('00', 32), 'hex'));
create index audit_event_details on signalbox.audit_event using gin (details jsonb_path_ops);

-- Where the chain begins after its oldest events were exported and removed.
create table signalbox.audit_anchor (
  position bigint primary key check (position > 0),
  hash bytea not null,
  rows bigint not null check (rows > 0),
  through timestamptz not null,
  pruned_at timestamptz not null default clock_timestamp(),
  export text not null,
  export_sha256 bytea not null check (octet_length(export_sha256) = 32)
);
