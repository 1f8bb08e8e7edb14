-- send_limited(queue, payload, expires_at, max_receives, ...): send one message as send does, with limits of its own.
-- It is not delivered after expires_at, which is at most a year from now and not before its delay ends: from then on it
-- counts as expired. It is a dead letter after max_receives deliveries (1 to 1000), in place of the queue's number.
-- Null: no such limit. The other arguments are those of send. Copies that subscriptions send have no limits.
create or replace function signalbox.send_limited(
  queue text,
  payload jsonb,
  expires_at timestamptz default null,
  max_receives int default null,
  attributes jsonb default null,
  priority int default 0,
  delay_seconds double precision default null,
  group_id text default null,
  deduplication_id text default null,
  trace_id text default null,
  body_sha256 bytea default null
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_before bigint := coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0);
  v_id bigint;
begin
  perform signalbox._check_limits(
    send_limited.queue, send_limited.expires_at, send_limited.max_receives, send_limited.delay_seconds, ''
  );
  v_id := signalbox.send(
    send_limited.queue, send_limited.payload, send_limited.attributes, send_limited.priority,
    send_limited.delay_seconds, send_limited.group_id, send_limited.deduplication_id, send_limited.trace_id,
    send_limited.body_sha256
  );
  perform signalbox._limit_messages(
    send_limited.queue, array[v_id], array[send_limited.expires_at], array[send_limited.max_receives], v_before
  );
  return v_id;
end $$;
