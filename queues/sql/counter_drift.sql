-- counter_drift(queue_id): what counters say of a queue beside a recount, for each state, and for every lane of which they
-- differ. It scans, for doubt and for repair. In one snapshot, so that it is exact under traffic: call it in a transaction
-- of isolation level repeatable read. There should never be a difference.
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
    perform signalbox._refuse('transaction_isolation', 'is read committed: comparing needs one snapshot, say repeatable read');
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
    values ('ready', r.ready), ('scheduled', r.scheduled), ('waiting', r.waiting), ('leased', r.leased), ('dead', r.dead), ('held', r.held)
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

-- correct_counters(queue_id): put right what counter_drift finds, by deltas of their own ('corrected_...'), in the same
-- transaction; returns how many numbers were wrong. Totals of what happened are left as they are.
create or replace function signalbox.correct_counters(queue_id integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corrected integer;
begin
  with drift as materialized (
    select d.lane, d.state, d.recounted - d.counted as missing
    from signalbox.counter_drift(correct_counters.queue_id) d
    where d.recounted <> d.counted
  ), corrected as (
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
    select correct_counters.queue_id, case d.state when 'waiting' then 39 else 48 end::smallint,
      case d.state when 'waiting' then d.missing else -d.missing end, d.lane
    from drift d
    where d.lane is not null
    union all
    -- What the lanes' corrections add to the queue's waiting is not added twice.
    select correct_counters.queue_id, e.event, c.amount, null
    from signalbox.counter_event e
    cross join lateral (
      select coalesce(sum(case
        when d.lane is null and d.state = e.to_state then d.missing
        when d.lane is not null and d.state = 'waiting' and e.to_state = 'waiting' then -d.missing
      end), 0)::bigint as amount
      from drift d
    ) c
    where e.name like 'corrected_%' and c.amount <> 0
  )
  select count(*) into v_corrected from drift;
  return v_corrected;
end $$;
