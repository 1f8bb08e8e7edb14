-- queue_totals(queue_ids): every event ever counted, per queue, exact at this moment (null: all queues): the last fold's
-- totals plus the deltas it does not cover, at most about a second's worth. Never a scan of messages.
create or replace function signalbox.queue_totals(queue_ids integer[] default null)
returns table (queue_id integer, totals bigint[])
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_last record;
begin
  if current_setting('transaction_isolation') <> 'read committed'
    and clock_timestamp() - transaction_timestamp() > interval '50 seconds'
  then
    perform signalbox._refuse_isolation('reading counters so long after the snapshot');  -- deltas may have been emptied
  end if;
  select * into v_last from signalbox._last_fold();
  return query
  with fresh as (
    select u.queue_id, array_agg(u.event) as events, array_agg(u.amount) as amounts
    from (
      select u.queue_id, u.event, sum(u.amount)::bigint as amount
      from signalbox._unfolded_timed(v_last.xmin, v_last.xmax, v_last.xip) u
      group by u.queue_id, u.event
    ) u
    group by u.queue_id
  )
  select q.queue_id, case
      when f.queue_id is null and s.totals is not null then s.totals
      else array(
        select coalesce(s.totals[e], 0) + coalesce(f.amounts[array_position(f.events, e::smallint)], 0)
        from generate_series(1, 48) e
      )
    end
  from signalbox.queue q
  left join lateral (
    select s.totals
    from signalbox.queue_stat s
    where s.queue_id = q.queue_id and s.fold_id <= v_last.fold_id
    order by s.fold_id desc
    limit 1
  ) s on true
  left join fresh f on f.queue_id = q.queue_id
  where queue_totals.queue_ids is null or q.queue_id = any(queue_totals.queue_ids);
end $$;

-- The depth of one state from totals: what events brought in less what they took out.
create or replace function signalbox.depth(totals bigint[], state text) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(case when e.to_state = depth.state then totals[e.event] else 0 end
    - case when e.from_state = depth.state then totals[e.event] else 0 end), 0)::bigint
  from signalbox.counter_event e
  where depth.state in (e.from_state, e.to_state)
$$;

-- What was counted under any of these event names.
create or replace function signalbox.event_total(totals bigint[], variadic names text[]) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(totals[e.event]), 0)::bigint from signalbox.counter_event e where e.name = any(event_total.names)
$$;
