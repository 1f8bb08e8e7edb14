-- Take the locks that all batches of these stages will take, so that two senders of staged messages never wait in a
-- circle.
create or replace function signalbox._lock_staged(p_queue_id integer, p_stages uuid[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_locks bigint;
  v_fifo boolean := (select q.mode = 'fifo' from signalbox.queue q where q.queue_id = p_queue_id);
begin
  select count(distinct d.id) into v_locks
  from signalbox.staged_write w, unnest(w.deduplication_ids) d(id)
  where w.stage = any(p_stages) and d.id is not null;
  if v_fifo then
    v_locks := v_locks + (
      select count(distinct k.key) from signalbox.staged_write w, unnest(w.keys) k(key) where w.stage = any(p_stages)
    );
  end if;
  if v_locks > 5000 then
    perform signalbox._refuse(case when v_fifo then 'group_id' else 'deduplication_id' end, format(
      'has %s values in one write: at most 5000 are locked together; write smaller batches', v_locks
    ));
  end if;
  perform pg_advisory_xact_lock(p_queue_id, k.lock)
  from (
    select distinct hashtext(d.id) as lock
    from signalbox.staged_write w, unnest(w.deduplication_ids) d(id)
    where w.stage = any(p_stages) and d.id is not null
    order by 1
  ) k;
  if v_fifo then
    perform pg_advisory_xact_lock(k.turn)
    from (
      select distinct signalbox._fifo_turn(p_queue_id, w.keys[i]) as turn
      from signalbox.staged_write w, generate_series(1, cardinality(w.payloads)) i
      where w.stage = any(p_stages)
      order by 1
    ) k;
  end if;
end $$;
