-- Moves of partitions, newest first: one, those that have not ended, or all.
select m.move_id, m.queue, m.partitions::integer[], m.from_cell, m.to_cell, m.state, m.paused, m.problem, m.messages,
  m.messages_left, m.keys, m.started_by, m.started_at, m.drained_since, m.looked_at, m.ended_at
from signalbox.fleet_move m
where m.move_id = coalesce(%(move_id)s, m.move_id) and (m.ended_at is null or not %(active)s)
order by m.move_id desc
limit 1000
