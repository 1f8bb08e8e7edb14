"""The data plane: the log, the tickets, the leases, history and counters.

Plain SQL, because none of it is written through the ORM. Functions and views live in `queues/sql/` and are installed
after every migration.
"""

from django.db import migrations

TENANT = """
insert into signalbox.tenant (tenant_id, name) overriding system value values (1, 'default') on conflict do nothing;
select setval(pg_get_serial_sequence('signalbox.tenant', 'tenant_id'), 1);
"""

SCRIPTS = """
create table signalbox.sql_script (
  name text primary key,
  checksum text not null,
  installed_at timestamptz not null
);
create table signalbox.setting_definition (
  name text primary key,
  kind text not null,
  default_value jsonb,
  minimum double precision,
  maximum double precision,
  choices text[]
);
"""

# Written once, never changed; partitions ("segments") of a fixed number of ids are attached ahead of need.
LOG = """
create sequence signalbox.message_id cache 1;
create sequence signalbox.log_end minvalue 0 start 0;
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
  primary key (queue_id, message_id)
) partition by range (message_id);
create table signalbox.segment (
  segment_number bigint primary key,
  opened_at timestamptz not null,
  sealed_at timestamptz
);
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
  primary key (queue_id, message_id)
);
"""

TICKETS = """
create table signalbox.ready (
  queue_id integer not null,
  priority smallint not null,
  receive_count smallint not null,
  ready_at timestamptz not null,
  message_id bigint not null
);
create index ready_claim on signalbox.ready (queue_id, priority, ready_at, message_id);
create table signalbox.scheduled (
  queue_id integer not null,
  priority smallint not null,
  receive_count smallint not null,
  due_at timestamptz not null,
  message_id bigint not null
);
create index scheduled_due on signalbox.scheduled (queue_id, due_at, message_id);
create unique index scheduled_message on signalbox.scheduled (message_id);
create table signalbox.lease (
  message_id bigint primary key,
  queue_id integer not null,
  receive_count smallint not null,
  priority smallint not null,
  deadline timestamptz not null,
  leased_at timestamptz not null,
  nonce uuid not null,
  consumer text
) with (fillfactor = 80);
create index lease_deadline on signalbox.lease (queue_id, deadline);
alter table signalbox.ready set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
alter table signalbox.scheduled set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
alter table signalbox.lease set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
"""

# Time never runs backwards here: every ticket takes the later of the wall clock and this sequence (microseconds).
CLAIM_FLOOR = """
create sequence signalbox.clock minvalue 0;
select setval('signalbox.clock', 0);
create table signalbox.head (
  queue_id integer not null,
  kind smallint not null,
  floor regclass
);
create index head_queue on signalbox.head (queue_id, kind);
create table signalbox.upkeep_leader (
  only_row boolean primary key default true check (only_row),
  token uuid not null,
  expires_at timestamptz not null
);
create sequence signalbox.upkeep_turn;
"""

HISTORY = """
create table signalbox.settled (
  queue_id integer not null,
  outcome "char" not null default 'a',
  txid bigint not null default (pg_current_xact_id()::text::bigint),
  settled_at timestamptz not null,
  message_ids bigint[] not null,
  receive_counts smallint[] not null,
  work_ms integer[] not null,
  consumer text
) partition by range (settled_at);
create index settled_recent on signalbox.settled (queue_id, settled_at);
create index settled_ids on signalbox.settled using brin
  ((message_ids[1]) int8_minmax_multi_ops, (message_ids[cardinality(message_ids)]) int8_minmax_multi_ops, txid)
  with (pages_per_range = 16);
create table signalbox.settled_default partition of signalbox.settled default;

create sequence signalbox.failure_id;
create table signalbox.failure (
  failure_id bigint not null default nextval('signalbox.failure_id'),
  queue_id integer not null,
  message_id bigint not null,
  receive_count smallint not null,
  leased_at timestamptz,
  failed_at timestamptz not null,
  retry_at timestamptz,
  reason text not null,
  error_class text,
  error text,
  details text,
  fingerprint text not null,
  consumer text
) partition by range (failed_at);
create index failure_message on signalbox.failure (message_id, failed_at);
create index failure_recent on signalbox.failure (queue_id, failed_at);
create table signalbox.failure_default partition of signalbox.failure default;
"""

DEAD_LETTERS = """
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
  redrive_history jsonb not null default '[]'
);
create index dead_letter_queue on signalbox.dead_letter (queue_id, dead_letter_id);
create index dead_letter_source on signalbox.dead_letter (source_queue_id, dead_letter_id);
create index dead_letter_class on signalbox.dead_letter (error_class, dead_letter_id);
create index dead_letter_fingerprint on signalbox.dead_letter (fingerprint, dead_letter_id);
create index dead_letter_payload on signalbox.dead_letter using gin (payload jsonb_path_ops);
create sequence signalbox.redriven_id;
create table signalbox.redriven (
  redriven_id bigint primary key default nextval('signalbox.redriven_id'),
  redrive_id bigint,
  dead_letter_id bigint not null,
  message_id bigint not null,
  queue_id integer not null,
  redriven_at timestamptz not null,
  actor text
);
create index redriven_message on signalbox.redriven (message_id);
create index redriven_job on signalbox.redriven (redrive_id, redriven_id) where redrive_id is not null;
"""

DEDUPLICATION = """
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
"""

# Every verb appends what it changed to a ring of four slots; a fold sums them; TRUNCATE empties what is summed.
COUNTERS = """
create table signalbox.counter_delta (
  slot smallint not null default ((date_part('epoch', clock_timestamp())::bigint / 60 % 4)::smallint),
  event smallint not null,
  queue_id integer not null,
  txid bigint not null default (pg_current_xact_id()::text::bigint),
  amount bigint not null
) partition by list (slot);
create index counter_delta_txid on signalbox.counter_delta using brin (txid) with (pages_per_range = 8);
create table signalbox.counter_delta_0 partition of signalbox.counter_delta for values in (0);
create table signalbox.counter_delta_1 partition of signalbox.counter_delta for values in (1);
create table signalbox.counter_delta_2 partition of signalbox.counter_delta for values in (2);
create table signalbox.counter_delta_3 partition of signalbox.counter_delta for values in (3);
create table signalbox.counter_event (
  event smallint primary key,
  name text not null unique,
  from_state text,
  to_state text
);
create sequence signalbox.fold_id;
create table signalbox.fold (
  fold_id bigint primary key default nextval('signalbox.fold_id'),
  folded_at timestamptz not null,
  snapshot pg_snapshot not null
);
create table signalbox.queue_stat (
  queue_id integer not null,
  fold_id bigint not null,
  folded_at timestamptz not null,
  totals bigint[] not null,
  primary key (queue_id, fold_id)
);
create table signalbox.queue_history (
  queue_id integer not null,
  bucket_at timestamptz not null,
  seconds integer not null,
  ready bigint not null,
  scheduled bigint not null,
  leased bigint not null,
  dead bigint not null,
  oldest_ready_age_seconds double precision,
  published bigint not null,
  delivered bigint not null,
  acked bigint not null,
  nacked bigint not null,
  dead_lettered bigint not null,
  removed bigint not null,
  totals bigint[] not null,
  primary key (queue_id, bucket_at)
);
create table signalbox.consumer (
  queue_id integer not null,
  consumer text not null,
  last_seen_at timestamptz not null,
  details jsonb not null default '{}',
  primary key (queue_id, consumer)
);
insert into signalbox.fold (folded_at, snapshot) values (clock_timestamp(), '1:1:');
"""

TABLES = [TENANT, SCRIPTS, LOG, TICKETS, CLAIM_FLOOR, HISTORY, DEAD_LETTERS, DEDUPLICATION, COUNTERS]


class Migration(migrations.Migration):
    dependencies = [("queues", "0001_control_plane")]
    operations = [migrations.RunSQL(statements) for statements in TABLES]
