-- Deliveries: one ticket for each message, in the table that names its state. Message groups have `waiting`.

-- Microseconds of the latest ticket. Each ticket takes the later of this sequence and the wall clock, so that time
-- never runs backwards.
create sequence signalbox.clock minvalue 0;
select setval('signalbox.clock', 0);

-- Claim floors: below the floor of a queue and kind there is no ticket, so claims begin there.
create table signalbox.claim_floor (
  queue_id integer not null,
  kind smallint not null,
  floor regclass
);
create index claim_floor_queue on signalbox.claim_floor (queue_id, kind);

-- Tickets of messages that may be delivered now.
create table signalbox.ready (
  queue_id integer not null,
  priority smallint not null,
  receive_count smallint not null,
  ready_at timestamptz not null,
  message_id bigint not null,
  lane text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index ready_claim on signalbox.ready (queue_id, priority, ready_at, message_id);

-- Tickets of messages that may be delivered later: sent with a delay, or to be retried.
create table signalbox.scheduled (
  queue_id integer not null,
  priority smallint not null,
  receive_count smallint not null,
  due_at timestamptz not null,
  message_id bigint not null,
  lane text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index scheduled_due on signalbox.scheduled (queue_id, due_at, message_id);
create unique index scheduled_message on signalbox.scheduled (message_id);

-- Messages in flight: each is held by one consumer until the deadline. The nonce is part of the receipt handle.
create table signalbox.lease (
  message_id bigint primary key,
  queue_id integer not null,
  receive_count smallint not null,
  priority smallint not null,
  deadline timestamptz not null,
  leased_at timestamptz not null,
  nonce uuid not null,
  consumer text,
  lane text
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index lease_deadline on signalbox.lease (queue_id, deadline);

-- Consumers of each queue, and when each was last seen.
create table signalbox.consumer (
  queue_id integer not null,
  consumer text not null,
  last_seen_at timestamptz not null,
  details jsonb not null default '{}',
  primary key (queue_id, consumer)
);
