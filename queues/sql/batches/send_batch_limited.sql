-- send_batch_limited(queue, payloads, expires_ats, max_receives, ...): send many messages with limits of their own, all
-- or none; returns their ids in the order of the payloads. Limits are null, or an array with one entry for each payload
-- (send_limited); the other arguments are those of send_batch.
create or replace function signalbox.send_batch_limited(
  queue text,
  payloads jsonb[],
  expires_ats timestamptz[] default null,
  max_receives int[] default null,
  attributes jsonb[] default null,
  priorities int[] default null,
  delay_seconds double precision[] default null,
  group_ids text[] default null,
  deduplication_ids text[] default null,
  trace_ids text[] default null,
  body_sha256s bytea[] default null
) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_before bigint := coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0);
  v_count integer := coalesce(cardinality(send_batch_limited.payloads), 0);
  v_expires timestamptz[] := signalbox._as_list('expires_ats', send_batch_limited.expires_ats);
  v_most integer[] := signalbox._as_list('max_receives', send_batch_limited.max_receives);
  v_delays double precision[] := signalbox._as_list('delay_seconds', send_batch_limited.delay_seconds);
  v_ids bigint[];
begin
  perform signalbox._check_batch_length('expires_ats', cardinality(v_expires), v_count);
  perform signalbox._check_batch_length('max_receives', cardinality(v_most), v_count);
  perform signalbox._check_limits(
    send_batch_limited.queue, v_expires[i], v_most[i], v_delays[i], format('[%s]', i - 1)
  )
  from generate_series(1, v_count) i
  where num_nonnulls(v_expires[i], v_most[i]) > 0;
  v_ids := array(
    select s.id
    from signalbox.send_batch(
      send_batch_limited.queue, send_batch_limited.payloads, send_batch_limited.attributes,
      send_batch_limited.priorities, send_batch_limited.delay_seconds, send_batch_limited.group_ids,
      send_batch_limited.deduplication_ids, send_batch_limited.trace_ids, send_batch_limited.body_sha256s
    ) s(id)
  );
  perform signalbox._limit_messages(send_batch_limited.queue, v_ids, v_expires, v_most, v_before);
  return query select unnest(v_ids);
end $$;
