-- Dead letters, redriven messages, and the trash.

-- Messages that failed for good, complete with payload and last error.
create sequence signalbox.dead_letter_id cache 1;
create table signalbox.dead_letter (
  dead_letter_id bigint primary key default nextval('signalbox.dead_letter_id'),
  message_id bigint not null unique,
  queue_id integer not null,
  source_queue_id integer not null,
  source_queue text not null,
  payload jsonb not null,
  attributes jsonb,
  group_id text,
  deduplication_id text,
  trace_id text,
  priority smallint not null,
  sent_at timestamptz not null,
  receive_count smallint not null,
  first_failed_at timestamptz not null,
  last_failed_at timestamptz not null,
  reason text not null,
  error_class text,
  error text,
  details text,
  fingerprint text not null,
  consumer text,
  died_at timestamptz not null,
  redrive_count integer not null default 0,
  redrive_history jsonb not null default '[]',
  state jsonb,
  body_sha256 bytea,
  body_bytes bigint
);
create index dead_letter_queue on signalbox.dead_letter (queue_id, dead_letter_id);
create index dead_letter_source on signalbox.dead_letter (source_queue_id, dead_letter_id);
create index dead_letter_class on signalbox.dead_letter (error_class, dead_letter_id);
create index dead_letter_fingerprint on signalbox.dead_letter (fingerprint, dead_letter_id);
create index dead_letter_payload on signalbox.dead_letter using gin (payload jsonb_path_ops);
create index dead_letter_body on signalbox.dead_letter (body_sha256) where body_sha256 is not null;

-- Dead-letter queues that a queue used before its settings changed, where its older dead letters are.
create table signalbox.former_dead_letter_queue (
  queue_id integer not null,
  source_queue_id integer not null,
  primary key (queue_id, source_queue_id)
);
create index former_dead_letter_queue_source on signalbox.former_dead_letter_queue (source_queue_id);

-- Redriven messages and their outcomes. The outcome is null while the message may still be delivered, and then one of
-- a: acknowledged, s: dead again of the same cause, n: dead of another cause, g: purged or expired.
create sequence signalbox.redriven_id;
create table signalbox.redriven (
  redriven_id bigint primary key default nextval('signalbox.redriven_id'),
  redrive_id bigint,
  dead_letter_id bigint not null,
  message_id bigint not null,
  queue_id integer not null,
  redriven_at timestamptz not null,
  actor text,
  outcome "char",
  settled_at timestamptz,
  fingerprint text,
  priority smallint
);
create index redriven_message on signalbox.redriven (message_id);
create index redriven_job on signalbox.redriven (redrive_id, outcome, redriven_id) where redrive_id is not null;

-- Payloads as they were before a redrive changed them.
create table signalbox.rewritten (
  message_id bigint not null,
  dead_letter_id bigint not null,
  redrive_id bigint,
  rewritten_at timestamptz not null,
  payload jsonb not null,
  primary key (message_id, dead_letter_id)
);

-- Batches of the trash: the messages of one purge or deletion, and until when they can be restored.
create table signalbox.trash_batch (
  trash_batch_id bigint generated always as identity primary key,
  opened_at timestamptz not null default clock_timestamp(),
  keep_seconds double precision not null check (keep_seconds > 0),
  expires_at timestamptz not null,
  trashed bigint not null default 0,
  restored bigint not null default 0,
  emptied bigint not null default 0
);
create index trash_batch_due on signalbox.trash_batch (expires_at) where trashed > restored + emptied;

-- The trash. A message's payload stays in the log; a dead letter is here in full.
create table signalbox.trash (
  trash_batch_id bigint not null,
  position bigint not null,
  message_id bigint not null,
  queue_id integer not null,
  state text not null,
  priority smallint not null,
  receive_count smallint not null,
  due_at timestamptz,
  trashed_at timestamptz not null default clock_timestamp(),
  letter jsonb,
  body_sha256 bytea,
  primary key (trash_batch_id, position, message_id)
);
create unique index trash_message on signalbox.trash (message_id);
create index trash_body on signalbox.trash (body_sha256) where body_sha256 is not null;
