-- What a move of these partitions touches in this cell: messages, deduplication ids, and deliveries a second of the
-- queue.
select signalbox._fleet_remaining(%(queue)s, %(partitions)s::smallint[], %(limit)s),
  (select count(*) from signalbox._fleet_keys(%(queue)s, %(partitions)s::smallint[])),
  coalesce((
    select ({total.delivered:n.totals} - {total.delivered:n.earlier}) / nullif(n.earlier_seconds, 0)
    from signalbox.queue q
    cross join lateral signalbox.queue_numbers(array[q.queue_id]) n
    where q.name = %(queue)s
  ), 0)::double precision
