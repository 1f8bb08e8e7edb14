-- _evaluate(gauge_id): what do the queues of this gauge hold? Called once a second by upkeep, and by a sender whom the
-- gauge would refuse, or who finds that nobody has for a second. Reads counters and index heads, never messages.
-- Held is what the counters say (visible to us) and what was admitted by transactions that are still open: admitted less
-- published less lost. Lost is what was admitted and rolled back; it is known exactly for the time before a mark once every
-- transaction of that time has ended: then published less what later transactions published is all that came of it.
-- A mark so old that deltas since were emptied (-1) says nothing: what was known to be lost stays until the next.
-- Only the latest of several evaluations writes; none waits for another. Indexes: counter_delta_txid and those of queue_totals.
create or replace function signalbox._evaluate(p_gauge_id integer) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gauge signalbox.gauge;
  v_queue_ids integer[];
  v_stamp bigint := signalbox._now_ns();
  v_known boolean;
  v_mark_admitted bigint;
  v_mark_xid bigint;
  v_admitted bigint;
  v_last_xid bigint;
  v_xmin bigint;
  v_recent bigint;
  v_events smallint[] := '{1,2,33}';
  v_totals bigint[];
  v_published bigint;
  v_backlog bigint;
  v_oldest timestamptz;
  v_held bigint;
begin
  select * into v_gauge from signalbox.gauge g where g.gauge_id = p_gauge_id;
  v_mark_admitted := signalbox._register(v_gauge.mark_admitted); -- before the id: of two evaluations the older count
  v_mark_xid := signalbox._register(v_gauge.mark_xid);
  -- After a minute without evaluation what came since the mark may no longer be told from what came before.
  v_known := v_mark_xid <> 0 and v_stamp - signalbox._register(v_gauge.evaluated) < 60000000000;
  perform setval(v_gauge.evaluated, v_stamp);
  v_queue_ids := array(
    select q.queue_id from signalbox.queue q where q.queue_id = v_gauge.queue_id or q.tenant_id = v_gauge.tenant_id
  );
  if v_gauge.tenant_id is not null then
    v_events := v_events || 24::smallint; -- a dead letter that is received is published anew, and nobody asked for it
  end if;
  v_admitted := signalbox._register(v_gauge.admitted);
  v_last_xid := signalbox._register(v_gauge.last_xid);
  v_xmin := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
  select coalesce(sum(case d.event when 24 then -d.amount else d.amount end), 0)
  into v_recent
  from signalbox.counter_delta d
  where d.txid >= v_mark_xid and v_known and v_mark_xid > 0 and d.event = any(v_events) and d.queue_id = any(v_queue_ids);
  v_totals := array(
    select sum(t.amount)::bigint
    from signalbox.queue_totals(v_queue_ids) q, unnest(q.totals) with ordinality t(amount, event)
    group by t.event
    order by t.event
  );
  v_published := v_totals[1] + v_totals[2] + v_totals[33] - case when v_gauge.tenant_id is null then 0 else v_totals[24] end;
  v_backlog := signalbox.depth(v_totals, 'ready') + signalbox.depth(v_totals, 'scheduled')
    + signalbox.depth(v_totals, 'waiting') + signalbox.depth(v_totals, 'leased');
  if (signalbox._limits(v_gauge)).max_oldest_age_seconds > 0 then
    select min(signalbox.oldest_visible_at(q)) into v_oldest from unnest(v_queue_ids) q;
  end if;
  begin
    perform pg_advisory_xact_lock(hashtext('signalbox.gauge'), p_gauge_id); -- as in _take
    if signalbox._register(v_gauge.evaluated) = v_stamp then
      if not v_known then
        perform setval(v_gauge.lost, v_admitted - v_published);
      elsif v_mark_xid > 0 and v_xmin >= v_mark_xid and signalbox._register(v_gauge.mark_xid) = v_mark_xid then
        perform setval(v_gauge.lost, v_mark_admitted - (v_published - v_recent));
      end if;
      if not v_known or v_xmin >= v_mark_xid then
        perform setval(v_gauge.mark_admitted, v_admitted), setval(v_gauge.mark_xid, greatest(v_last_xid + 1, v_xmin));
      end if;
      v_admitted := signalbox._register(v_gauge.admitted);
      v_held := v_backlog + greatest(v_admitted - v_published - signalbox._register(v_gauge.lost), 0);
      perform setval(v_gauge.base, v_admitted - v_held),
        setval(v_gauge.bytes_held, v_held * signalbox._register(v_gauge.mean_bytes)),
        setval(v_gauge.oldest, coalesce((date_part('epoch', v_oldest) * 1000000)::bigint * 1000, 0));
    end if;
    raise exception using errcode = 'SB000';
  exception
    when sqlstate 'SB000' then
      null;
  end;
end $$;

-- weigh(): evaluate the gauges whose limits ask what queues hold, and note which queues have refused a send since the last
-- call. Returns how many have. One process at a time (try-lock); senders do without it. A limit that cannot be read, since
-- its queue is being deleted, is passed over.
create or replace function signalbox.weigh() returns integer
language plpgsql
set lock_timeout = '200ms'
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  c_fresh_ns constant bigint := 500000000;
  v_gauge record;
  v_refusal record;
  v_queue_ids integer[] := '{}';
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.weigh'), 0) then
    return null;
  end if;
  for v_gauge in
    select g.gauge_id, g.queue_id, g.evaluated from signalbox.gauge g, signalbox._limits(g) l where l.weighed
  loop
    begin
      if abs(signalbox._now_ns() - signalbox._register(v_gauge.evaluated)) > c_fresh_ns then
        perform signalbox._evaluate(v_gauge.gauge_id);
      end if;
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('weigh', v_gauge.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  for v_refusal in select r.ctid as tid, r.queue_id, r.counter, r.counted from signalbox.refusal r loop
    begin
      if signalbox._register(v_refusal.counter) <> v_refusal.counted then
        update signalbox.refusal r
        set counted = signalbox._register(r.counter), refused_at = clock_timestamp()
        where r.ctid = v_refusal.tid;
        v_queue_ids := v_queue_ids || v_refusal.queue_id;
      end if;
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('weigh', v_refusal.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  return (select count(distinct q.queue_id) from unnest(v_queue_ids) q(queue_id));
end $$;
