-- The load of each placed queue in this cell: sends and receives a second over the last ten seconds, messages in flight.
select q.name,
  coalesce(({total.published:n.totals} - {total.published:n.earlier}) / nullif(n.earlier_seconds, 0), 0)
    ::double precision,
  coalesce(({total.delivered:n.totals} - {total.delivered:n.earlier}) / nullif(n.earlier_seconds, 0), 0)
    ::double precision,
  {depth.leased:n.totals}
from signalbox.fleet_queue f
join signalbox.queue q on q.name = f.queue
cross join lateral signalbox.queue_numbers(array[q.queue_id]) n
order by q.name
