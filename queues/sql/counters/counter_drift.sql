-- counter_drift(queue_id): compare a queue's counters with a recount, for each state and for every message group whose
-- numbers differ. It scans the queue: use it to check or to repair the counters. Call it in a transaction of isolation
-- level repeatable read: one snapshot makes it exact under traffic. There should never be a difference.
create or replace function signalbox.counter_drift(queue_id integer)
returns table (lane text, state text, counted bigint, recounted bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_totals bigint[];
  v_lanes text[];
begin
  if current_setting('transaction_isolation') = 'read committed' then
    perform signalbox._refuse(
      'transaction_isolation', 'is read committed: comparing needs one snapshot, say repeatable read'
    );
  end if;
  select t.totals into v_totals from signalbox.queue_totals(array[counter_drift.queue_id]) t;
  if not found then
    perform signalbox._refuse('queue_id', format('is %s: there is no such queue', counter_drift.queue_id));
  end if;
  v_lanes := array(
    select s.lane from signalbox.lane_stat s where s.queue_id = counter_drift.queue_id
    union
    select d.lane from signalbox.counter_delta d where d.queue_id = counter_drift.queue_id and d.lane is not null
    union
    select l.lane from signalbox.recount_lanes(counter_drift.queue_id) l
  );
  return query
  select null::text, s.state, signalbox.depth(v_totals, s.state), s.rows
  from signalbox.recount(counter_drift.queue_id) r
  cross join lateral (
    values ('ready', r.ready), ('scheduled', r.scheduled), ('waiting', r.waiting), ('leased', r.leased),
    ('dead', r.dead), ('held', r.held)
  ) s(state, rows)
  union all
  select c.lane, s.state, s.counted, s.rows
  from signalbox.lane_counts(counter_drift.queue_id, v_lanes) c
  left join signalbox.recount_lanes(counter_drift.queue_id) r on r.lane = c.lane
  cross join lateral (
    values ('waiting', c.waiting, coalesce(r.waiting, 0)), ('under_way', c.under_way, coalesce(r.under_way, 0))
  ) s(state, counted, rows)
  where s.counted <> s.rows;
end $$;
