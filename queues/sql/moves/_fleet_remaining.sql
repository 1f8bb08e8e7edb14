-- Count the messages of these partitions that this cell still has, up
-- to a limit. Dead letters count only where they hold their group. Reads every message of the queue: ask it seldom.
create or replace function signalbox._fleet_remaining(queue text, partitions smallint[], max_messages integer)
returns integer
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select count(*)::integer
  from (
    select 1
    from signalbox.queue q
    cross join lateral (
      select r.message_id from signalbox.ready r where r.queue_id = q.queue_id
      union all
      select s.message_id from signalbox.scheduled s where s.queue_id = q.queue_id
      union all
      select w.message_id from signalbox.waiting w where w.queue_id = q.queue_id
      union all
      select l.message_id from signalbox.lease l where l.queue_id = q.queue_id
    ) t
    left join signalbox.message m on m.queue_id = q.queue_id and m.message_id = t.message_id
    left join signalbox.message_kept k on k.queue_id = q.queue_id and k.message_id = t.message_id
    where q.name = _fleet_remaining.queue and signalbox._partition_of(
        coalesce(
          m.group_id, k.group_id,
          case q.mode when 'fifo' then '' else coalesce(m.deduplication_id, k.deduplication_id) end
        ), {fleet.partitions}
      ) = any(_fleet_remaining.partitions)
    union all
    select 1
    from signalbox.queue q
    join signalbox.lane_slot h on h.queue_id = q.queue_id
    join signalbox.dead_letter d on d.message_id = h.message_id
    where q.name = _fleet_remaining.queue
      and signalbox._partition_of(h.lane, {fleet.partitions}) = any(_fleet_remaining.partitions)
    limit _fleet_remaining.max_messages
  ) found
$$;
