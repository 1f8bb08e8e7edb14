-- The counters of these queues (null: all queues), the name of each dead-letter queue, and refused sends. Only queues
-- with a limit on sending have refusals.
select n.queue_id, n.totals, n.earlier, n.earlier_seconds, n.oldest_visible_seconds, n.consumers,
  a.refused, a.refusing, a.bytes_held,
  case
    when q.is_dead_letter_queue and q.dead_letter_queue is null then q.name
    when d.queue_id is not null then d.name
    when taken.queue_id is not null then signalbox._reserved_name(q.name, q.dead_letter_queue_id)
    else q.name || '-dlq'
  end as dead_letter_queue
from signalbox.queue_numbers(%(ids)s::integer[]) n
join signalbox.queue q on q.queue_id = n.queue_id
left join signalbox.queue d on d.queue_id = q.dead_letter_queue_id
left join signalbox.queue taken on taken.name = q.name || '-dlq'
left join (
  select r.queue_id, jsonb_object_agg(r.reason, signalbox._read_counter(r.counter)) as refused,
    array_agg(r.reason order by r.reason)
      filter (where r.refused_at > clock_timestamp() - interval '60 seconds' and r.reason <> 'closed') as refusing,
    max(case when q.max_backlog_bytes > 0 then signalbox._read_counter(g.bytes_held) end) as bytes_held
  from signalbox.refusal r
  join signalbox.queue q on q.queue_id = r.queue_id
    and (q.admission_flags & {flag.limits_sending} > 0 or q.group_max_waiting > 0 or q.closed)
  left join signalbox.admission_counter g on g.queue_id = r.queue_id
  group by r.queue_id
) a on a.queue_id = n.queue_id
