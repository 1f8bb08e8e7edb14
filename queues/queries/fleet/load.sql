-- The load of this cell: messages by state over all queues, and sends and receives a second over the last ten seconds.
select coalesce(sum({depth.ready:n.totals}), 0)::bigint, coalesce(sum({depth.scheduled:n.totals}), 0)::bigint,
  coalesce(sum({depth.waiting:n.totals}), 0)::bigint, coalesce(sum({depth.leased:n.totals}), 0)::bigint,
  coalesce(sum({depth.dead:n.totals}), 0)::bigint,
  coalesce(sum(({total.published:n.totals} - {total.published:n.earlier}) / nullif(n.earlier_seconds, 0)), 0)
    ::double precision,
  coalesce(sum(({total.delivered:n.totals} - {total.delivered:n.earlier}) / nullif(n.earlier_seconds, 0)), 0)
    ::double precision
from signalbox.queue_numbers(null) n
