-- Limits of single messages: no delivery after `expires_at`, at most `max_receives` deliveries. Few messages have any.
alter table signalbox.message add column if not exists expires_at timestamptz;
alter table signalbox.message_kept add column if not exists expires_at timestamptz;

-- The limits of messages that have not ended. Upkeep looks at a row when it is due, and deletes it after its message.
create table if not exists signalbox.message_limit (
  message_id bigint primary key,
  queue_id integer not null,
  expires_at timestamptz,
  max_receives integer check (max_receives between 1 and 1000),
  look_at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index if not exists message_limit_look on signalbox.message_limit (queue_id, look_at);
