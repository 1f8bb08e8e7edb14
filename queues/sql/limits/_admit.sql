-- _admit(queue_id, messages, bytes): admit messages, or refuse them all. send and send_batch call it where
-- queue.admission_flags says that the queue or its tenant limits sending. Takes what they need from the admission
-- counters of both, or raises and takes nothing. It counts at once and for all senders, whichever commits first; a
-- later evaluation gives back what was rolled back. No sender waits for another's commit: an admission counter is
-- locked for the microseconds of a few sequence calls. Indexes: admission_counter_queue_id_key,
-- admission_counter_tenant_id_key.
create or replace function signalbox._admit(p_queue_id integer, p_messages integer, p_bytes bigint) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_counter_id integer;
  v_taken integer;
  v_problem record;
  v_admitted text := current_setting('signalbox.admitted', true);
begin
  if v_admitted <> '' and v_admitted = signalbox._sign('admitted ' || p_queue_id) then
    return; -- send_batch has asked for the whole batch
  end if;
  perform pg_current_xact_id(); -- what is admitted belongs to a transaction that snapshots know of (_evaluate)
  for v_counter_id in
    select g.counter_id
    from (
      select g.counter_id, 1 as turn from signalbox.admission_counter g where g.queue_id = p_queue_id
      union all
      select g.counter_id, 2
      from signalbox.queue q
      join signalbox.admission_counter g on g.tenant_id = q.tenant_id
      where q.queue_id = p_queue_id
    ) g
    order by g.turn
  loop
    v_problem := signalbox._reserve(v_counter_id, p_messages, p_bytes);
    if v_problem.reason is not null then
      if v_taken is not null then
        perform signalbox._reserve(v_taken, -p_messages, -p_bytes);
      end if;
      perform nextval(r.counter) from signalbox.refusal r where r.queue_id = p_queue_id and r.reason = v_problem.reason;
      perform signalbox._refuse_quota(
        v_problem.who, v_problem.scope, v_problem.reason, v_problem.limit_name, v_problem.allowed, v_problem.actual,
        v_problem.retry_after
      );
    end if;
    v_taken := v_counter_id;
  end loop;
end $$;
