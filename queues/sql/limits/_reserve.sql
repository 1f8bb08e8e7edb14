-- Take messages and bytes from one admission counter, or say which limit they would exceed: then reason is not null and
-- nothing is taken. Negative numbers give back. A counter is evaluated first if its last evaluation is more than a
-- second old. Before a refusal, 50 ms are enough, so that sends are refused for at most 50 ms after there is room
-- again. An evaluation in the future, after the clock was set back, counts as old.
create or replace function signalbox._reserve(
  p_counter_id integer, p_messages integer, p_bytes bigint,
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
  v_counter record;
  v_now bigint := signalbox._now_ns();
  v_admitted bigint;
  v_held bigint;
  v_bytes_held bigint;
  v_oldest bigint;
  v_mean bigint;
  v_cost double precision;
  v_span bigint;
  v_next bigint;
  -- With an older snapshot the result would be the same.
  v_looks boolean := current_setting('transaction_isolation') = 'read committed';
begin
  select g.*, l.* into v_counter
  from signalbox.admission_counter g, signalbox._limits(g) l
  where g.counter_id = p_counter_id;
  if not signalbox._limits_sending(
    v_counter.max_backlog_messages, v_counter.max_backlog_bytes, v_counter.max_oldest_age_seconds,
    v_counter.publish_rate_per_second
  ) then
    return;
  end if;
  who := v_counter.who;
  scope := v_counter.scope;
  if v_counter.weighed and v_looks and abs(v_now - signalbox._read_counter(v_counter.evaluated)) > 1000000000 then
    perform signalbox._evaluate(p_counter_id);
  end if;
  for v_attempt in 1..2 loop
    begin
      -- Released when this block is rolled back: at its end, or by an error.
      perform pg_advisory_xact_lock(hashtext('signalbox.admission_counter'), p_counter_id);
      reason := null;
      v_now := signalbox._now_ns();
      v_admitted := signalbox._read_counter(v_counter.admitted);
      v_held := v_admitted - signalbox._read_counter(v_counter.base);
      v_bytes_held := signalbox._read_counter(v_counter.bytes_held);
      v_oldest := signalbox._read_counter(v_counter.oldest);
      v_cost := least(1000000000 / nullif(v_counter.publish_rate_per_second, 0), 1000000000000000000); -- 30 years
      v_span := greatest(1000000000, v_cost);
      v_next := least(greatest(signalbox._read_counter(v_counter.next_free), v_now - v_span), v_now);
      if p_messages < 0 then
        null;
      elsif v_counter.publish_rate_per_second > 0 and v_next + p_messages * v_cost > v_now then
        reason := 'rate';
        limit_name := 'publish_rate_per_second';
        allowed := v_counter.publish_rate_per_second;
        actual := ceil((v_next - v_now + v_span) / v_cost) + p_messages;
        retry_after := case when p_messages * v_cost <= v_span
          then (v_next + p_messages * v_cost - v_now) / 1000000000 end;
      elsif v_counter.max_backlog_messages > 0 and v_held + p_messages > v_counter.max_backlog_messages then
        reason := 'backlog';
        limit_name := 'max_backlog_messages';
        allowed := v_counter.max_backlog_messages;
        actual := v_held + p_messages;
        retry_after := case when p_messages <= v_counter.max_backlog_messages then 1 end;
      elsif v_counter.max_backlog_bytes > 0 and v_bytes_held + p_bytes > v_counter.max_backlog_bytes then
        reason := 'bytes';
        limit_name := 'max_backlog_bytes';
        allowed := v_counter.max_backlog_bytes;
        actual := v_bytes_held + p_bytes;
        retry_after := case when p_bytes <= v_counter.max_backlog_bytes then 1 end;
      elsif v_counter.max_oldest_age_seconds > 0 and v_oldest > 0
        and v_now - v_oldest > v_counter.max_oldest_age_seconds * 1000000000 then
        reason := 'age';
        limit_name := 'max_oldest_age_seconds';
        allowed := v_counter.max_oldest_age_seconds;
        actual := (v_now - v_oldest) / 1000000000;
        retry_after := 1;
      end if;
      if reason is null then
        -- In this order: a reader that sees the admitted number then sees a transaction id that is at least its own.
        perform setval(
          v_counter.last_xid, greatest(signalbox._read_counter(v_counter.last_xid), pg_current_xact_id()::text::bigint)
        );
        perform setval(v_counter.admitted, v_admitted + p_messages);
        if v_counter.publish_rate_per_second > 0 then
          perform setval(v_counter.next_free, (v_next + p_messages * v_cost)::bigint);
        end if;
        if v_counter.max_backlog_bytes > 0 then
          perform setval(v_counter.bytes_held, v_bytes_held + p_bytes);
          v_mean := signalbox._read_counter(v_counter.mean_bytes);
          if p_messages > 0 then
            perform setval(v_counter.mean_bytes, case
              when v_mean = 0 then p_bytes / p_messages
              else greatest(
                v_mean + ((p_bytes::double precision / p_messages - v_mean) * least(p_messages, 100) / 100)::bigint, 1
              )
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
    exit when v_attempt = 2 or abs(v_now - signalbox._read_counter(v_counter.evaluated)) < 50000000;
    perform signalbox._evaluate(p_counter_id);
  end loop;
end $$;
