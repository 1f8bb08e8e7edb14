-- send_counted(queue, payload, ...): send one message, as send and send_limited do, and return its id with the number
-- of messages that wait in its message group now, itself included if it waits. Null where the queue neither orders,
-- limits nor shares its groups. The number is exact, with the messages that the caller's transaction sent; those of other open
-- transactions are not counted. Indexes: as for send and lane_counts.
create or replace function signalbox.send_counted(
  queue text,
  payload jsonb,
  attributes jsonb default null,
  priority int default 0,
  delay_seconds double precision default null,
  group_id text default null,
  deduplication_id text default null,
  trace_id text default null,
  body_sha256 bytea default null,
  expires_at timestamptz default null,
  max_receives int default null
) returns table (message_id bigint, group_waiting bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if num_nonnulls(send_counted.expires_at, send_counted.max_receives) = 0 then
    message_id := signalbox.send(
      send_counted.queue, send_counted.payload, send_counted.attributes, send_counted.priority,
      send_counted.delay_seconds, send_counted.group_id, send_counted.deduplication_id, send_counted.trace_id,
      send_counted.body_sha256
    );
  else
    message_id := signalbox.send_limited(
      send_counted.queue, send_counted.payload, send_counted.expires_at, send_counted.max_receives,
      send_counted.attributes, send_counted.priority, send_counted.delay_seconds, send_counted.group_id,
      send_counted.deduplication_id, send_counted.trace_id, send_counted.body_sha256
    );
  end if;
  select c.waiting into group_waiting
  from signalbox.queue q
  cross join lateral signalbox._lane_of(q.mode, q.group_max_in_flight > 0 or q.fair_groups, send_counted.group_id) own(lane)
  cross join lateral signalbox.lane_counts(q.queue_id, array[own.lane]) c
  where own.lane is not null and q.queue_id = coalesce(
    (select n.queue_id from signalbox.queue n where n.name = send_counted.queue),
    (select a.queue_id from signalbox.queue_alias a where a.name = send_counted.queue)
  );
  return next;
end $$;
