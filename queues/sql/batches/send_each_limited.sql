-- send_each_limited(queue, payloads, expires_ats, max_receives, ...): send many messages, each for itself and with
-- limits of its own (send_limited): a refused message holds none of the others back. Returns one row for each payload,
-- in their order: its message id, or the refusal (SQLSTATE, message, detail, field) that send_limited would raise.
-- Limits are null, or an array with one entry for each payload; the other arguments are those of send_batch, with at
-- most 1000 payloads.
-- It tries all messages together. When they are refused it tries each half, until it has found the refused ones: one
-- among a thousand costs some twenty attempts, each rolled back by itself. Quota that an undone attempt took is given
-- back at once, or it would refuse the messages after it. A queue that does not exist or is closed is an error. Locks:
-- those of send_batch, for all payloads in the same order before the first part is tried, so that two calls never wait
-- in a circle.
create or replace function signalbox.send_each_limited(
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
) returns table (message_id bigint, refusal text, message text, detail text, field text)
language plpgsql
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_count integer := coalesce(cardinality(send_each_limited.payloads), 0);
  v_from integer := 1;
  v_to integer;
  v_size integer := v_count;
  v_locked boolean := false;
  v_queue record;
  v_weight record; -- what an attempt takes from quotas: variables keep their values when an attempt is rolled back
  v_admitted boolean;
  v_before bigint; -- the last id before an attempt
  v_ids bigint[];
begin
  send_each_limited.payloads := signalbox._as_list('payloads', send_each_limited.payloads);
  send_each_limited.attributes := signalbox._as_list('attributes', send_each_limited.attributes);
  send_each_limited.priorities := signalbox._as_list('priorities', send_each_limited.priorities);
  send_each_limited.delay_seconds := signalbox._as_list('delay_seconds', send_each_limited.delay_seconds);
  send_each_limited.group_ids := signalbox._as_list('group_ids', send_each_limited.group_ids);
  send_each_limited.deduplication_ids := signalbox._as_list('deduplication_ids', send_each_limited.deduplication_ids);
  send_each_limited.trace_ids := signalbox._as_list('trace_ids', send_each_limited.trace_ids);
  send_each_limited.body_sha256s := signalbox._as_list('body_sha256s', send_each_limited.body_sha256s);
  send_each_limited.expires_ats := signalbox._as_list('expires_ats', send_each_limited.expires_ats);
  send_each_limited.max_receives := signalbox._as_list('max_receives', send_each_limited.max_receives);
  perform signalbox._check_batch_length(o.name, o.entries, v_count)
  from (values
    ('expires_ats', cardinality(send_each_limited.expires_ats)),
    ('max_receives', cardinality(send_each_limited.max_receives)),
    ('attributes', cardinality(send_each_limited.attributes)),
    ('priorities', cardinality(send_each_limited.priorities)),
    ('delay_seconds', cardinality(send_each_limited.delay_seconds)),
    ('group_ids', cardinality(send_each_limited.group_ids)),
    ('deduplication_ids', cardinality(send_each_limited.deduplication_ids)),
    ('trace_ids', cardinality(send_each_limited.trace_ids)),
    ('body_sha256s', cardinality(send_each_limited.body_sha256s))
  ) o(name, entries);
  if v_count > 1000 then
    perform signalbox._refuse('payloads', format('has %s entries: at most 1000 are sent each for itself', v_count));
  end if;
  if v_count = 0 then
    perform signalbox.send_batch(send_each_limited.queue, '{}'); -- raises an error if there is no such queue
  end if;
  select q.queue_id, q.admission_flags & {flag.limits_sending} > 0 as guarded,
    q.max_payload_bytes::integer as max_payload_bytes into v_queue
  from signalbox.queue q
  where q.name = send_each_limited.queue;
  if not found and v_count > 0 then
    return query
    select *
    from signalbox.send_each_limited(
      signalbox._renamed(send_each_limited.queue), send_each_limited.payloads, send_each_limited.expires_ats,
      send_each_limited.max_receives, send_each_limited.attributes, send_each_limited.priorities,
      send_each_limited.delay_seconds, send_each_limited.group_ids, send_each_limited.deduplication_ids,
      send_each_limited.trace_ids, send_each_limited.body_sha256s
    );
    return;
  end if;
  while v_from <= v_count loop
    v_to := least(v_from + v_size - 1, v_count);
    v_admitted := false;
    begin
      if v_queue.guarded then
        perform signalbox._check_payload(p, v_queue.max_payload_bytes)
        from unnest(send_each_limited.payloads[v_from:v_to]) p
        where p is null or octet_length(p::text) > v_queue.max_payload_bytes;
        if not v_locked then
          perform signalbox._lock_batch(
            send_each_limited.queue, send_each_limited.group_ids, send_each_limited.deduplication_ids, v_count
          );
        end if;
        select w.* into v_weight
        from signalbox._estimate_batch(
          v_queue.queue_id, send_each_limited.payloads[v_from:v_to], send_each_limited.deduplication_ids[v_from:v_to],
          send_each_limited.body_sha256s[v_from:v_to]
        ) w;
        if v_weight.messages > 0 then
          perform signalbox._admit(v_queue.queue_id, v_weight.messages, v_weight.bytes);
          v_admitted := true;
        end if;
        perform set_config('signalbox.admitted', signalbox._sign('admitted ' || v_queue.queue_id), true);
      end if;
      perform signalbox._check_limits(
        send_each_limited.queue, send_each_limited.expires_ats[i], send_each_limited.max_receives[i],
        send_each_limited.delay_seconds[i], ''
      )
      from generate_series(v_from, v_to) i
      where num_nonnulls(send_each_limited.expires_ats[i], send_each_limited.max_receives[i]) > 0;
      v_before := coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0);
      v_ids := array(
        select s.sent
        from signalbox.send_batch(
          send_each_limited.queue,
          send_each_limited.payloads[v_from:v_to],
          send_each_limited.attributes[v_from:v_to],
          send_each_limited.priorities[v_from:v_to],
          send_each_limited.delay_seconds[v_from:v_to],
          send_each_limited.group_ids[v_from:v_to],
          send_each_limited.deduplication_ids[v_from:v_to],
          send_each_limited.trace_ids[v_from:v_to],
          send_each_limited.body_sha256s[v_from:v_to]
        ) s(sent)
      );
      if num_nonnulls(send_each_limited.expires_ats, send_each_limited.max_receives) > 0 then
        perform signalbox._limit_messages(
          send_each_limited.queue, v_ids, send_each_limited.expires_ats[v_from:v_to],
          send_each_limited.max_receives[v_from:v_to], v_before
        );
      end if;
      return query select u.sent, null::text, null::text, null::text, null::text from unnest(v_ids) u(sent);
      if v_queue.guarded then
        perform set_config('signalbox.admitted', '', true);
      end if;
      v_from := v_to + 1;
      v_size := v_size * 2;
    exception
      when sqlstate 'SB400' or sqlstate 'SB409' or sqlstate 'SB413' or sqlstate 'SB421' or sqlstate 'SB429' then
        if v_from = v_to then
          get stacked diagnostics message = message_text, detail = pg_exception_detail, field = column_name;
          refusal := sqlstate;
          message_id := null;
          return next;
          v_from := v_to + 1;
        else
          v_size := (v_to - v_from + 1) / 2;
        end if;
        if v_admitted then
          perform signalbox._admit(v_queue.queue_id, -v_weight.messages, -v_weight.bytes);
        end if;
        if not v_locked then
          perform signalbox._lock_batch(
            send_each_limited.queue, send_each_limited.group_ids, send_each_limited.deduplication_ids, v_count
          );
          v_locked := true;
        end if;
    end;
  end loop;
end $$;
