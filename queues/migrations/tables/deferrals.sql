-- Deferred deliveries: put off by their consumer, without a failure. Partitioned by time, as failures are.
create table if not exists signalbox.deferral (
  queue_id integer not null,
  message_id bigint not null,
  receive_count smallint not null,
  leased_at timestamptz not null,
  deferred_at timestamptz not null,
  due_at timestamptz not null,
  consumer text
) partition by range (deferred_at);
create index if not exists deferral_message on signalbox.deferral (message_id, deferred_at);
create table if not exists signalbox.deferral_default partition of signalbox.deferral default;

-- Deliveries of a message that do not count towards max_receives. A deferred message may have no state.
alter table signalbox.message_state alter column state drop not null;
alter table signalbox.message_state add column if not exists deferrals smallint not null default 0;
