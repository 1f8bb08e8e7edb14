-- Return since when the longest-waiting message of a queue has been visible, as one row, for statements about many
-- queues: inlined by the planner, which saves a call for each queue.
create or replace function signalbox._oldest_visible(p_queue_id integer) returns table (at timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select min(heads.at)
  from signalbox.claim_floor h, lateral (select signalbox.floor_time(h.floor) as at) f, lateral (
    (
      select r.ready_at as at
      from signalbox.ready r
      where h.kind >= {priority.lowest} and r.queue_id = h.queue_id and r.priority = h.kind and r.ready_at >= f.at
      order by r.ready_at, r.message_id
      limit 1
    )
    union all
    (
      select l.deadline
      from signalbox.lease l
      where h.kind = {floor.lease} and l.queue_id = h.queue_id and l.deadline >= f.at
        and l.deadline <= statement_timestamp()
      order by l.deadline
      limit 1
    )
    union all
    (
      select s.due_at
      from signalbox.scheduled s
      where h.kind = {floor.scheduled} and s.queue_id = h.queue_id and s.due_at >= f.at
        and s.due_at <= statement_timestamp()
      order by s.due_at, s.message_id
      limit 1
    )
  ) heads
  where h.queue_id = p_queue_id
$$;
