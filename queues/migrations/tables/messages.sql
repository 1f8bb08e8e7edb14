-- Messages as they were sent, with their states and large bodies.

create sequence signalbox.message_id cache 1;
create sequence signalbox.log_end minvalue 0 start 0;

-- The log of messages: rows are inserted once and never changed. Partitions ("segments") hold a fixed number of ids
-- each and are attached before they are needed. A large payload is stored outside: `body_sha256` names it.
create table signalbox.message (
  message_id bigint not null,
  queue_id integer not null,
  payload jsonb not null,
  attributes jsonb,
  group_id text,
  deduplication_id text,
  trace_id text,
  priority smallint not null,
  sent_at timestamptz not null,
  txid xid8 not null default pg_current_xact_id(),
  body_sha256 bytea,
  body_bytes bigint,
  primary key (queue_id, message_id)
) partition by range (message_id);

-- The segments of the log. A sealed segment takes no more messages and is dropped when its messages are gone.
create table signalbox.segment (
  segment_number bigint primary key,
  opened_at timestamptz not null,
  sealed_at timestamptz
);

-- Messages that outlive their segment, copied here before the segment is dropped.
create table signalbox.message_kept (
  message_id bigint not null,
  queue_id integer not null,
  payload jsonb not null,
  attributes jsonb,
  group_id text,
  deduplication_id text,
  trace_id text,
  priority smallint not null,
  sent_at timestamptz not null,
  txid xid8 not null default pg_current_xact_id(),
  kept_at timestamptz not null default clock_timestamp(),
  body_sha256 bytea,
  body_bytes bigint,
  primary key (queue_id, message_id)
);
create index message_kept_body on signalbox.message_kept (body_sha256) where body_sha256 is not null;

-- State that a consumer hands from one delivery of a message to the next.
create table signalbox.message_state (
  message_id bigint primary key,
  queue_id integer not null,
  state jsonb not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Payloads in object storage, by their hash. A body that no message points to is removed after a while.
create table signalbox.large_body (
  sha256 bytea primary key check (octet_length(sha256) = 32),
  bytes bigint not null check (bytes > 0),
  stored_at timestamptz not null default clock_timestamp(),
  last_claimed_at timestamptz not null default clock_timestamp()
);

-- The messages that point to a large body. Only these messages have a row, so the log needs no index for them.
create table signalbox.body_pointer (
  sha256 bytea not null,
  message_id bigint not null,
  primary key (sha256, message_id)
);
create index body_pointer_message on signalbox.body_pointer (message_id);
