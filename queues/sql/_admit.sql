-- _admit(queue_id, messages, bytes): may these be sent? Called by send and send_batch where queue.guards says that the queue or
-- its tenant has a limit on sending. Takes what they need from the gauges of both, or refuses all of it and takes nothing.
-- What is taken counts at once and for everybody, whoever commits first; what is rolled back is given back by a later
-- evaluation. Nobody waits for another's commit: a gauge is locked for the microseconds of a few sequence calls.
-- Indexes: gauge_queue_id_key, gauge_tenant_id_key.
create or replace function signalbox._admit(p_queue_id integer, p_messages integer, p_bytes bigint) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gauge_id integer;
  v_taken integer;
  v_problem record;
  v_admitted text := current_setting('signalbox.admitted', true);
begin
  if v_admitted <> '' and v_admitted = signalbox._sign('admitted ' || p_queue_id) then
    return; -- send_batch has asked for the whole batch
  end if;
  perform pg_current_xact_id(); -- what is admitted belongs to a transaction that snapshots know of (_evaluate)
  for v_gauge_id in
    select g.gauge_id
    from (
      select g.gauge_id, 1 as turn from signalbox.gauge g where g.queue_id = p_queue_id
      union all
      select g.gauge_id, 2
      from signalbox.queue q
      join signalbox.gauge g on g.tenant_id = q.tenant_id
      where q.queue_id = p_queue_id
    ) g
    order by g.turn
  loop
    v_problem := signalbox._take(v_gauge_id, p_messages, p_bytes);
    if v_problem.reason is not null then
      if v_taken is not null then
        perform signalbox._take(v_taken, -p_messages, -p_bytes);
      end if;
      perform nextval(r.counter) from signalbox.refusal r where r.queue_id = p_queue_id and r.reason = v_problem.reason;
      perform signalbox._refuse_quota(
        v_problem.who, v_problem.scope, v_problem.reason, v_problem.limit_name, v_problem.allowed, v_problem.actual, v_problem.retry_after
      );
    end if;
    v_taken := v_gauge_id;
  end loop;
end $$;

-- Take messages and bytes from one gauge, or say which limit they would exceed: then reason is not null and nothing is
-- taken. Negative numbers give back. A gauge that was last evaluated a second ago is evaluated first; one that refuses is
-- evaluated again when that was 50 ms ago, so that it refuses for no more than that after there is room. Where the clock was
-- set back, that was in the future: likewise.
create or replace function signalbox._take(
  p_gauge_id integer, p_messages integer, p_bytes bigint,
  out reason text, out limit_name text, out allowed double precision, out actual double precision,
  out retry_after double precision, out who text, out scope text
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_gauge record;
  v_now bigint := signalbox._now_ns();
  v_admitted bigint;
  v_held bigint;
  v_bytes_held bigint;
  v_oldest bigint;
  v_mean bigint;
  v_cost double precision;
  v_span bigint;
  v_next bigint;
  -- An older snapshot would tell nothing new.
  v_looks boolean := current_setting('transaction_isolation') = 'read committed';
begin
  select g.*, l.* into v_gauge
  from signalbox.gauge g, signalbox._limits(g) l
  where g.gauge_id = p_gauge_id;
  if not signalbox._limits_sending(
    v_gauge.max_backlog_messages, v_gauge.max_backlog_bytes, v_gauge.max_oldest_age_seconds, v_gauge.publish_rate_per_second
  ) then
    return;
  end if;
  who := v_gauge.who;
  scope := v_gauge.scope;
  if v_gauge.weighed and v_looks and abs(v_now - signalbox._register(v_gauge.evaluated)) > 1000000000 then
    perform signalbox._evaluate(p_gauge_id);
  end if;
  for v_attempt in 1..2 loop
    begin
      -- Let go of when this block is rolled back, at its end or whatever happens to it.
      perform pg_advisory_xact_lock(hashtext('signalbox.gauge'), p_gauge_id);
      reason := null;
      v_now := signalbox._now_ns();
      v_admitted := signalbox._register(v_gauge.admitted);
      v_held := v_admitted - signalbox._register(v_gauge.base);
      v_bytes_held := signalbox._register(v_gauge.bytes_held);
      v_oldest := signalbox._register(v_gauge.oldest);
      v_cost := least(1000000000 / nullif(v_gauge.publish_rate_per_second, 0), 1000000000000000000); -- 30 years
      v_span := greatest(1000000000, v_cost);
      v_next := least(greatest(signalbox._register(v_gauge.next_free), v_now - v_span), v_now);
      if p_messages < 0 then
        null;
      elsif v_gauge.publish_rate_per_second > 0 and v_next + p_messages * v_cost > v_now then
        reason := 'rate';
        limit_name := 'publish_rate_per_second';
        allowed := v_gauge.publish_rate_per_second;
        actual := ceil((v_next - v_now + v_span) / v_cost) + p_messages;
        retry_after := case when p_messages * v_cost <= v_span then (v_next + p_messages * v_cost - v_now) / 1000000000 end;
      elsif v_gauge.max_backlog_messages > 0 and v_held + p_messages > v_gauge.max_backlog_messages then
        reason := 'backlog';
        limit_name := 'max_backlog_messages';
        allowed := v_gauge.max_backlog_messages;
        actual := v_held + p_messages;
        retry_after := case when p_messages <= v_gauge.max_backlog_messages then 1 end;
      elsif v_gauge.max_backlog_bytes > 0 and v_bytes_held + p_bytes > v_gauge.max_backlog_bytes then
        reason := 'bytes';
        limit_name := 'max_backlog_bytes';
        allowed := v_gauge.max_backlog_bytes;
        actual := v_bytes_held + p_bytes;
        retry_after := case when p_bytes <= v_gauge.max_backlog_bytes then 1 end;
      elsif v_gauge.max_oldest_age_seconds > 0 and v_oldest > 0 and v_now - v_oldest > v_gauge.max_oldest_age_seconds * 1000000000 then
        reason := 'age';
        limit_name := 'max_oldest_age_seconds';
        allowed := v_gauge.max_oldest_age_seconds;
        actual := (v_now - v_oldest) / 1000000000;
        retry_after := 1;
      end if;
      if reason is null then
        -- In this order: whoever sees what is admitted then sees a transaction id that is at least its own.
        perform setval(v_gauge.last_xid, greatest(signalbox._register(v_gauge.last_xid), pg_current_xact_id()::text::bigint));
        perform setval(v_gauge.admitted, v_admitted + p_messages);
        if v_gauge.publish_rate_per_second > 0 then
          perform setval(v_gauge.next_free, (v_next + p_messages * v_cost)::bigint);
        end if;
        if v_gauge.max_backlog_bytes > 0 then
          perform setval(v_gauge.bytes_held, v_bytes_held + p_bytes);
          v_mean := signalbox._register(v_gauge.mean_bytes);
          if p_messages > 0 then
            perform setval(v_gauge.mean_bytes, case
              when v_mean = 0 then p_bytes / p_messages
              else greatest(v_mean + ((p_bytes::double precision / p_messages - v_mean) * least(p_messages, 100) / 100)::bigint, 1)
            end);
          end if;
        end if;
      end if;
      raise exception using errcode = 'SB000';
    exception
      when sqlstate 'SB000' then
        null;
    end;
    exit when reason is null or reason = 'rate' or retry_after is null or not v_looks;
    exit when v_attempt = 2 or abs(v_now - signalbox._register(v_gauge.evaluated)) < 50000000;
    perform signalbox._evaluate(p_gauge_id);
  end loop;
end $$;

-- The limits that a gauge is compared with: those of its queue or its tenant, as they are now. weighed: one of them asks
-- what the queues hold.
create or replace function signalbox._limits(
  p_gauge signalbox.gauge,
  out max_backlog_messages bigint, out max_backlog_bytes bigint, out max_oldest_age_seconds double precision,
  out publish_rate_per_second double precision, out weighed boolean, out who text, out scope text
)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if p_gauge.queue_id is not null then
    select q.max_backlog_messages, q.max_backlog_bytes, q.max_oldest_age_seconds, q.publish_rate_per_second,
      'queue ' || quote_literal(q.name), 'queue'
    into max_backlog_messages, max_backlog_bytes, max_oldest_age_seconds, publish_rate_per_second, who, scope
    from signalbox.queue q
    where q.queue_id = p_gauge.queue_id;
  else
    select t.max_backlog_messages, t.max_backlog_bytes, t.max_oldest_age_seconds, t.publish_rate_per_second,
      'tenant ' || quote_literal(t.name), 'tenant'
    into max_backlog_messages, max_backlog_bytes, max_oldest_age_seconds, publish_rate_per_second, who, scope
    from signalbox.tenant t
    where t.tenant_id = p_gauge.tenant_id;
  end if;
  weighed := max_backlog_messages > 0 or max_backlog_bytes > 0 or max_oldest_age_seconds > 0;
end $$;

create or replace function signalbox._register(p_register regclass) returns bigint
language sql volatile
begin atomic
  select coalesce(pg_sequence_last_value(p_register), 0);
end;

create or replace function signalbox._now_ns() returns bigint
language sql volatile
begin atomic
  select (date_part('epoch', clock_timestamp()) * 1000000)::bigint * 1000;
end;

-- A batch: all of it is asked for at once, but for what repeats a message by its deduplication id and will not be sent. The
-- caller has the locks of those ids, so that what is not known now is sent. The sends it makes of itself ask for nothing.
-- Indexes: dedup_key, dedup_in_flight_pkey.
create or replace function signalbox._admit_batch(p_queue_id integer, p_payloads jsonb[], p_deduplication_ids text[], p_body_sha256s bytea[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_weight record;
begin
  select w.* into v_weight
  from signalbox._weigh_batch(p_queue_id, p_payloads, p_deduplication_ids, p_body_sha256s) w;
  if v_weight.messages > 0 then
    perform signalbox._admit(p_queue_id, v_weight.messages, v_weight.bytes);
  end if;
end $$;

create or replace function signalbox._weigh_batch(
  p_queue_id integer, p_payloads jsonb[], p_deduplication_ids text[], p_body_sha256s bytea[],
  out messages integer, out bytes bigint
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
begin
  select count(*), sum(octet_length(g.payload::text)) + signalbox._stored_bytes(array_agg(g.body_sha256))
  into messages, bytes
  from (
    select u.payload, u.deduplication_id, u.body_sha256, row_number() over (partition by u.deduplication_id order by u.place) as nth
    from unnest(p_payloads, p_deduplication_ids, p_body_sha256s) with ordinality u(payload, deduplication_id, body_sha256, place)
  ) g
  where g.deduplication_id is null
    or g.nth = 1
    and not exists (
      select from signalbox.dedup_in_flight k
      where k.queue_id = p_queue_id and k.deduplication_id = g.deduplication_id
    )
    and not exists (
      select from signalbox.dedup d
      where d.queue_id = p_queue_id and d.deduplication_id = g.deduplication_id and d.expires_at > clock_timestamp()
        and d.sent_at > clock_timestamp() - interval '24 hours'
    );
end $$;

-- What large bodies add to the bytes of a message: they were claimed before it is sent. Index: large_body_pkey.
create or replace function signalbox._stored_bytes(p_sha256s bytea[]) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select coalesce(sum(b.bytes), 0)
    from unnest(p_sha256s) h(sha256)
    join signalbox.large_body b on b.sha256 = any(array[h.sha256])
  );
end $$;
