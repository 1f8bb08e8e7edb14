-- Queues and tenants, beside the tables that the first migration made.

-- Every queue belongs to a tenant; without any other it is this one.
insert into signalbox.tenant (tenant_id, name) overriding system value values (1, 'default');
select setval(pg_get_serial_sequence('signalbox.tenant', 'tenant_id'), 1);

-- Each queue reserves the id of its dead-letter queue; the row is made when the first message dies.
alter table signalbox.queue
  alter column dead_letter_queue_id set default nextval('signalbox.queue_queue_id_seq'::regclass);

-- Former names of queues. A name works until `works_until`; afterwards an error names the queue's present name.
create table signalbox.queue_alias (
  name text primary key,
  queue_id integer not null references signalbox.queue (queue_id) on delete cascade,
  renamed_at timestamptz not null default clock_timestamp(),
  works_until timestamptz not null,
  last_used regclass not null
);
create index queue_alias_queue on signalbox.queue_alias (queue_id);
-- Readable by every role, as the claim floors are: a role with older grants gets an error message, not a denial.
grant select on signalbox.queue_alias to public;

-- Names of deleted queues: their history outlives them and is archived under these names.
create table signalbox.former_queue (
  queue_id integer primary key,
  name text not null,
  tenant_id integer not null,
  deleted_at timestamptz not null default clock_timestamp()
);

-- No value is drawn from this sequence. Its grants are the model for those of sequences that verbs count with and that
-- are created later, with a queue or a stream (queues/sql/queues/_copy_grants.sql).
create sequence signalbox.register_grants minvalue 0 start 0;
