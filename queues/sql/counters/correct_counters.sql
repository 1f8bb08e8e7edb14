-- correct_counters(queue_id): correct the differences that counter_drift finds, by counter deltas of their own
-- ('corrected_...'). Returns how many numbers were wrong. Totals of events stay as they are.
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
    select correct_counters.queue_id, case d.state when 'waiting' then {event.corrected_waiting}
      else {event.left_lane} end,
      case d.state when 'waiting' then d.missing else -d.missing end, d.lane
    from drift d
    where d.lane is not null
    union all
    -- The corrections of lanes change the queue's waiting too: they are subtracted here, or they would count twice.
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
