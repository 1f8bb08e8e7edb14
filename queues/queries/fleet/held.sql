-- What this cell holds of each queue that was placed: messages that wait, messages in flight, dead letters, and sends
-- and receives a second over the last ten seconds.
select q.name, {depth.ready:n.totals} + {depth.waiting:n.totals} + {depth.scheduled:n.totals},
  {depth.leased:n.totals}, {depth.dead:n.totals},
  coalesce(({total.published:n.totals} - {total.published:n.earlier}) / nullif(n.earlier_seconds, 0), 0)
    ::double precision,
  coalesce(({total.delivered:n.totals} - {total.delivered:n.earlier}) / nullif(n.earlier_seconds, 0), 0)
    ::double precision
from signalbox.queue q
cross join lateral signalbox.queue_numbers(array[q.queue_id]) n
where q.admission_flags & {flag.is_placed} > 0
order by q.name
