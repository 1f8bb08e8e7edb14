-- estimate_sizes(): evaluate the admission counters whose limits depend on what queues hold, and note which queues have
-- refused a send since the last call. Returns how many have. One process at a time (try-lock); senders work without it.
-- A limit that cannot be read, since its queue is being deleted, is skipped.
create or replace function signalbox.estimate_sizes() returns integer
language plpgsql
set lock_timeout = '200ms'
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  c_fresh_ns constant bigint := 500000000;
  v_counter record;
  v_refusal record;
  v_queue_ids integer[] := '{}';
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.estimate_sizes'), 0) then
    return null;
  end if;
  for v_counter in
    select g.counter_id, g.queue_id, g.evaluated from signalbox.admission_counter g, signalbox._limits(g) l
      where l.weighed
  loop
    begin
      if abs(signalbox._now_ns() - signalbox._read_counter(v_counter.evaluated)) > c_fresh_ns then
        perform signalbox._evaluate(v_counter.counter_id);
      end if;
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('estimate_sizes', v_counter.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  for v_refusal in select r.ctid as tid, r.queue_id, r.counter, r.counted from signalbox.refusal r loop
    begin
      if signalbox._read_counter(v_refusal.counter) <> v_refusal.counted then
        update signalbox.refusal r
        set counted = signalbox._read_counter(r.counter), refused_at = clock_timestamp()
        where r.ctid = v_refusal.tid;
        v_queue_ids := v_queue_ids || v_refusal.queue_id;
      end if;
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('estimate_sizes', v_refusal.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  return (select count(distinct q.queue_id) from unnest(v_queue_ids) q(queue_id));
end $$;
