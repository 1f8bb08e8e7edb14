-- _evaluate(counter_id): find out how many messages the queues of an admission counter hold. Upkeep calls it every
-- second, and so does a sender that would be refused, or that finds no evaluation within a second. Reads counters and
-- the starts of indexes, never messages.
-- Held messages are the messages that the counters show, and the messages of open transactions: admitted - published -
-- lost. Lost messages were admitted and then rolled back. Their number is known exactly for the time before a mark,
-- once every transaction of that time has ended: admitted before the mark, less published before the mark, which is all
-- published less published by later transactions. A mark of -1 is so old that deltas since then were emptied: the last
-- known number of lost messages stays until the next mark. Of several evaluations only the latest writes; none waits
-- for another. Indexes: counter_delta_txid and those of queue_totals.
create or replace function signalbox._evaluate(p_counter_id integer) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_counter signalbox.admission_counter;
  v_queue_ids integer[];
  v_stamp bigint := signalbox._now_ns();
  v_known boolean;
  v_mark_admitted bigint;
  v_mark_xid bigint;
  v_admitted bigint;
  v_last_xid bigint;
  v_xmin bigint;
  v_recent bigint;
  v_events smallint[] := {events.published};
  v_totals bigint[];
  v_published bigint;
  v_backlog bigint;
  v_oldest timestamptz;
  v_held bigint;
begin
  select * into v_counter from signalbox.admission_counter g where g.counter_id = p_counter_id;
  -- read before the transaction id: between two evaluations it is the lower count
  v_mark_admitted := signalbox._read_counter(v_counter.mark_admitted);
  v_mark_xid := signalbox._read_counter(v_counter.mark_xid);
  -- After a minute without evaluation deltas after the mark cannot be distinguished from those before.
  v_known := v_mark_xid <> 0 and v_stamp - signalbox._read_counter(v_counter.evaluated) < 60000000000;
  perform setval(v_counter.evaluated, v_stamp);
  v_queue_ids := array(
    select q.queue_id from signalbox.queue q where q.queue_id = v_counter.queue_id or q.tenant_id = v_counter.tenant_id
  );
  if v_counter.tenant_id is not null then
    v_events := v_events || {event.dead_received}; -- a received dead letter becomes a message without being admitted
  end if;
  v_admitted := signalbox._read_counter(v_counter.admitted);
  v_last_xid := signalbox._read_counter(v_counter.last_xid);
  v_xmin := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
  select coalesce(sum(case d.event when {event.dead_received} then -d.amount else d.amount end), 0)
  into v_recent
  from signalbox.counter_delta d
  where d.txid >= v_mark_xid and v_known and v_mark_xid > 0 and d.event = any(v_events)
    and d.queue_id = any(v_queue_ids);
  v_totals := array(
    select sum(t.amount)::bigint
    from signalbox.queue_totals(v_queue_ids) q, unnest(q.totals) with ordinality t(amount, event)
    group by t.event
    order by t.event
  );
  v_published := {total.published:v_totals};
  if v_counter.tenant_id is not null then
    v_published := v_published - coalesce(v_totals[{event.dead_received}], 0);
  end if;
  v_backlog := signalbox.depth(v_totals, 'ready') + signalbox.depth(v_totals, 'scheduled')
    + signalbox.depth(v_totals, 'waiting') + signalbox.depth(v_totals, 'leased');
  if (signalbox._limits(v_counter)).max_oldest_age_seconds > 0 then
    select min(signalbox.oldest_visible_at(q)) into v_oldest from unnest(v_queue_ids) q;
  end if;
  begin
    perform pg_advisory_xact_lock(hashtext('signalbox.admission_counter'), p_counter_id); -- as in _reserve
    if signalbox._read_counter(v_counter.evaluated) = v_stamp then
      if not v_known then
        perform setval(v_counter.lost, v_admitted - v_published);
      elsif v_mark_xid > 0 and v_xmin >= v_mark_xid and signalbox._read_counter(v_counter.mark_xid) = v_mark_xid then
        perform setval(v_counter.lost, v_mark_admitted - (v_published - v_recent));
      end if;
      if not v_known or v_xmin >= v_mark_xid then
        perform setval(v_counter.mark_admitted, v_admitted),
          setval(v_counter.mark_xid, greatest(v_last_xid + 1, v_xmin));
      end if;
      v_admitted := signalbox._read_counter(v_counter.admitted);
      v_held := v_backlog + greatest(v_admitted - v_published - signalbox._read_counter(v_counter.lost), 0);
      perform setval(v_counter.base, v_admitted - v_held),
        setval(v_counter.bytes_held, v_held * signalbox._read_counter(v_counter.mean_bytes)),
        setval(v_counter.oldest, coalesce((date_part('epoch', v_oldest) * 1000000)::bigint * 1000, 0));
    end if;
    raise exception using errcode = 'SB000';
  exception
    when sqlstate 'SB000' then
      null;
  end;
end $$;
