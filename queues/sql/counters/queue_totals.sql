-- queue_totals(queue_ids): how often each event was counted, per queue, exact at this moment (null: all queues). It
-- adds pending counter deltas, at most about a second's worth, to the totals of the last aggregation, and never scans
-- messages.
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
  select * into v_last from signalbox._last_aggregation();
  return query
  with fresh as (
    select u.queue_id, array_agg(u.event) as events, array_agg(u.amount) as amounts
    from (
      select u.queue_id, u.event, sum(u.amount)::bigint as amount
      from signalbox._pending_deltas(v_last.xmin, v_last.xmax, v_last.xip) u
      group by u.queue_id, u.event
    ) u
    group by u.queue_id
  )
  select q.queue_id, case
      when f.queue_id is null and s.totals is not null then s.totals
      else array(
        select coalesce(s.totals[e], 0) + coalesce(f.amounts[array_position(f.events, e::smallint)], 0)
        from generate_series(1, {events.count}) e
      )
    end
  from signalbox.queue q
  left join lateral (
    select s.totals
    from signalbox.queue_stat s
    where s.queue_id = q.queue_id and s.aggregation_id <= v_last.aggregation_id
    order by s.aggregation_id desc
    limit 1
  ) s on true
  left join fresh f on f.queue_id = q.queue_id
  where queue_totals.queue_ids is null or q.queue_id = any(queue_totals.queue_ids);
end $$;
