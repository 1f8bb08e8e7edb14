-- What this cell holds of each queue that was placed: messages that wait, messages in flight, dead letters, and sends
-- and receives a second over the last ten seconds. A queue of which this cell has neither a part nor a message is left
-- out.
select q.name, {depth.ready:n.totals} + {depth.waiting:n.totals} + {depth.scheduled:n.totals},
  {depth.leased:n.totals}, {depth.dead:n.totals},
  coalesce(({total.published:n.totals} - {total.published:n.earlier}) / nullif(n.earlier_seconds, 0), 0)
    ::double precision,
  coalesce(({total.delivered:n.totals} - {total.delivered:n.earlier}) / nullif(n.earlier_seconds, 0), 0)
    ::double precision
from signalbox.fleet_directory d
cross join signalbox.fleet_queue f
join signalbox.queue q on q.name = f.queue
cross join lateral signalbox.queue_numbers(array[q.queue_id]) n
where exists (select from signalbox.fleet_placement p where p.queue = f.queue and p.cell = d.cell)
  or {depth.ready:n.totals} + {depth.waiting:n.totals} + {depth.scheduled:n.totals} + {depth.leased:n.totals}
    + {depth.dead:n.totals} > 0
order by q.name
