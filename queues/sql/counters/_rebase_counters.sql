-- Adapt the counters of a dump that was restored on another server, whose transaction ids are others
-- (_is_from_elsewhere): rows that are kept by transaction id mean nothing here. Totals continue from the last
-- aggregation, depths are corrected by counting the rows once, and history that was its own delta is hidden from
-- aggregations. Called by aggregate_counters, under its lock, and by restored.
create or replace function signalbox._rebase_counters() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise warning 'signalbox: the database was restored from another server; counters are counted again once';
  lock table signalbox.counter_delta in access exclusive mode;
  truncate signalbox.counter_delta;
  perform signalbox._note_home('counters');
  perform signalbox._rebase_archive();
  update signalbox.settled s set txid = 0
  -- with an archive _rebase_archive has set 0 or 1, below every aggregation
  where s.txid <> 0 and not exists (select from signalbox.archive_horizon);
  perform setval(g.mark_xid, 0), setval(g.last_xid, 0) from signalbox.admission_counter g;
  -- otherwise an erasure would wait for transaction ids of another cluster
  update signalbox.erasure_find f set looked_in = pg_current_xact_id() where f.open;
  insert into signalbox.aggregation (aggregated_at, snapshot)
    select clock_timestamp(), signalbox._aggregation_snapshot();
  truncate signalbox.lane_stat;
  insert into signalbox.lane_stat (queue_id, lane, aggregation_id, aggregated_at, waiting, under_way)
  select q.queue_id, l.lane, f.aggregation_id, f.aggregated_at, l.waiting, l.under_way
  from signalbox.queue q
  cross join lateral signalbox.recount_lanes(q.queue_id) l
  cross join signalbox._last_aggregation() f;
  insert into signalbox.counter_delta (queue_id, event, amount)
  select q.queue_id, e.event, case e.to_state
      when 'ready' then r.ready when 'scheduled' then r.scheduled when 'leased' then r.leased
      when 'dead' then r.dead when 'held' then r.held when 'waiting' then r.waiting
    end - signalbox.depth(t.totals, e.to_state)
  from signalbox.queue q
  cross join lateral signalbox.recount(q.queue_id) r
  cross join lateral (
    select coalesce((
      select s.totals from signalbox.queue_stat s where s.queue_id = q.queue_id order by s.aggregation_id desc limit 1
    ), '{}') as totals
  ) t
  join signalbox.counter_event e on e.name like 'corrected_%';
end $$;
