-- send_each(queue, payloads, ...): send many messages, each for itself, as send_each_limited does, without limits of
-- their own. Returns one row for each payload, in their order: its message id, or the refusal (SQLSTATE, message,
-- detail, field) that send would raise.
create or replace function signalbox.send_each(
  queue text,
  payloads jsonb[],
  attributes jsonb[] default null,
  priorities int[] default null,
  delay_seconds double precision[] default null,
  group_ids text[] default null,
  deduplication_ids text[] default null,
  trace_ids text[] default null,
  body_sha256s bytea[] default null
) returns table (message_id bigint, refusal text, message text, detail text, field text)
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select *
  from signalbox.send_each_limited(
    send_each.queue, send_each.payloads, null, null, send_each.attributes, send_each.priorities,
    send_each.delay_seconds, send_each.group_ids, send_each.deduplication_ids, send_each.trace_ids,
    send_each.body_sha256s
  )
$$;
