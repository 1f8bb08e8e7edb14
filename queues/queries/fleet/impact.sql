-- What a move of these partitions touches in this cell: messages, deduplication ids, deliveries a second of the queue;
-- then the messages among them that are in flight, the scheduled ones, and the seconds until the last of these is due.
with held as (
  select t.state, t.due_at
  from signalbox.queue q
  cross join lateral (
    (
      select 'scheduled' as state, s.due_at, s.message_id
      from signalbox.scheduled s
      where s.queue_id = q.queue_id
      order by s.due_at desc
      limit %(limit)s
    )
    union all
    (select 'in flight', null, l.message_id from signalbox.lease l where l.queue_id = q.queue_id limit %(limit)s)
  ) t
  left join signalbox.message m on m.queue_id = q.queue_id and m.message_id = t.message_id
  left join signalbox.message_kept k on k.queue_id = q.queue_id and k.message_id = t.message_id
  where q.name = %(queue)s and signalbox._partition_of(
      coalesce(
        m.group_id, k.group_id,
        case q.mode when 'fifo' then '' else coalesce(m.deduplication_id, k.deduplication_id) end
      ), {fleet.partitions}
    ) = any(%(partitions)s::smallint[])
)
select signalbox._fleet_remaining(%(queue)s, %(partitions)s::smallint[], %(limit)s),
  (select count(*) from signalbox._fleet_keys(%(queue)s, %(partitions)s::smallint[])),
  coalesce((
    select ({total.delivered:n.totals} - {total.delivered:n.earlier}) / nullif(n.earlier_seconds, 0)
    from signalbox.queue q
    cross join lateral signalbox.queue_numbers(array[q.queue_id]) n
    where q.name = %(queue)s
  ), 0)::double precision,
  (select count(*) from held h where h.state = 'in flight'),
  (select count(*) from held h where h.state = 'scheduled'),
  (select greatest(0, extract(epoch from max(h.due_at) - clock_timestamp()))::double precision from held h)
