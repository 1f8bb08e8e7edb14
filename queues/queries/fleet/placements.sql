-- The partitions of each queue that was placed (of one queue, unless null), those of one cell and state together.
select p.queue, f.is_fifo, p.cell, p.from_cell, p.state, max(p.epoch),
  array_agg(p.partition::integer order by p.partition)
from signalbox.fleet_placement p
join signalbox.fleet_queue f using (queue)
where p.queue = coalesce(%(queue)s, p.queue)
group by p.queue, f.is_fifo, p.cell, p.from_cell, p.state
order by p.queue, min(p.partition)
