-- Admission: deduplication ids, and the counters that quotas are checked with.

-- Deduplication ids within their window, partitioned by time so that old ones are dropped.
create table signalbox.dedup (
  queue_id integer not null,
  deduplication_id text not null,
  message_id bigint not null,
  request_hash bytea not null,
  sent_at timestamptz not null,
  expires_at timestamptz not null
) partition by range (sent_at);
create index dedup_key on signalbox.dedup (queue_id, deduplication_id, sent_at);
create table signalbox.dedup_default partition of signalbox.dedup default;

-- Deduplication ids that are held for as long as their message is in the queue.
create table signalbox.dedup_in_flight (
  queue_id integer not null,
  deduplication_id text not null,
  message_id bigint not null,
  request_hash bytea not null,
  primary key (queue_id, deduplication_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create unique index dedup_in_flight_message on signalbox.dedup_in_flight (message_id);

-- Admission counters, one row for each queue and tenant with limits on sending. Each counter is a sequence: every
-- transaction sees its value at once, and a rollback does not undo it.
create table signalbox.admission_counter (
  counter_id integer generated always as identity primary key,
  queue_id integer unique,
  tenant_id integer unique,
  next_free regclass not null,
  last_xid regclass not null,
  admitted regclass not null,
  base regclass not null,
  bytes_held regclass not null,
  mean_bytes regclass not null,
  oldest regclass not null,
  evaluated regclass not null,
  lost regclass not null,
  mark_admitted regclass not null,
  mark_xid regclass not null
);

-- Refused sends of each queue, by reason. A sequence counts them, since a refused send is rolled back.
create table signalbox.refusal (
  queue_id integer not null,
  reason text not null,
  counter regclass not null,
  counted bigint not null default 0,
  refused_at timestamptz,
  primary key (queue_id, reason)
);

-- Requests other than sends that a tenant's quotas refused: queues, retention and long polls.
create table signalbox.tenant_refusal (
  tenant_id integer not null,
  reason text not null,
  counter regclass not null,
  primary key (tenant_id, reason)
);
