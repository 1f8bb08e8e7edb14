-- Take messages from a tenant's rate, or say what it allows: then `allowed` is not null and nothing is taken. As
-- _reserve, without the messages that queues hold: a stream has no backlog.
create or replace function signalbox._reserve_rate(
  p_tenant_id integer, p_messages integer,
  out allowed double precision, out actual double precision, out retry_after double precision
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
  v_now bigint;
  v_cost double precision;
  v_span bigint;
  v_next bigint;
begin
  select g.counter_id, g.next_free, t.publish_rate_per_second as rate into v_counter
  from signalbox.admission_counter g
  join signalbox.tenant t on t.tenant_id = g.tenant_id
  where g.tenant_id = p_tenant_id and t.publish_rate_per_second > 0;
  if not found then
    return;
  end if;
  begin
    -- Released when this block is rolled back: at its end, or by an error.
    perform pg_advisory_xact_lock(hashtext('signalbox.admission_counter'), v_counter.counter_id);
    v_now := signalbox._now_ns();
    v_cost := least(1000000000 / v_counter.rate, 1000000000000000000); -- 30 years
    v_span := greatest(1000000000, v_cost);
    v_next := least(greatest(signalbox._read_counter(v_counter.next_free), v_now - v_span), v_now);
    if v_next + p_messages * v_cost > v_now then
      allowed := v_counter.rate;
      actual := ceil((v_next - v_now + v_span) / v_cost) + p_messages;
      retry_after := case when p_messages * v_cost <= v_span
        then (v_next + p_messages * v_cost - v_now) / 1000000000 end;
    else
      perform setval(v_counter.next_free, (v_next + p_messages * v_cost)::bigint);
    end if;
    raise exception using errcode = 'SB000';
  exception
    when sqlstate 'SB000' then
      null;
  end;
end $$;
