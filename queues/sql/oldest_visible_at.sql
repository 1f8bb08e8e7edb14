-- oldest_visible_at(queue_id): since when the longest-waiting message of a queue has been visible, null when none is:
-- the least of the heads of its priorities, its due messages and its expired leases. A few index probes from the floors.
create or replace function signalbox.oldest_visible_at(queue_id integer) returns timestamptz
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return (select o.at from signalbox._oldest_visible(oldest_visible_at.queue_id) o);
end $$;

-- The same as one row, for statements about many queues: inlined by the planner, which spares a call for each of them.
create or replace function signalbox._oldest_visible(p_queue_id integer) returns table (at timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select min(heads.at)
  from signalbox.head h, lateral (select signalbox.floor_time(h.floor) as at) f, lateral (
    (
      select r.ready_at as at
      from signalbox.ready r
      where h.kind < 10 and r.queue_id = h.queue_id and r.priority = h.kind and r.ready_at >= f.at
      order by r.ready_at, r.message_id
      limit 1
    )
    union all
    (
      select l.deadline
      from signalbox.lease l
      where h.kind = 10 and l.queue_id = h.queue_id and l.deadline >= f.at and l.deadline <= statement_timestamp()
      order by l.deadline
      limit 1
    )
    union all
    (
      select s.due_at
      from signalbox.scheduled s
      where h.kind = 11 and s.queue_id = h.queue_id and s.due_at >= f.at and s.due_at <= statement_timestamp()
      order by s.due_at, s.message_id
      limit 1
    )
  ) heads
  where h.queue_id = p_queue_id
$$;
