-- What a ready message waits for: ready messages of higher priority, earlier ones of its own priority, and the free
-- places and messages in flight where a limit counts them.
select
  (select count(*) from (
    select from signalbox.ready r where r.queue_id = %(queue_id)s and r.priority > %(priority)s limit %(most)s
  ) higher),
  (select count(*) from (
    select from signalbox.ready r
    where r.queue_id = %(queue_id)s and r.priority = %(priority)s
      and r.ready_at <= %(ready_at)s and (r.ready_at, r.message_id) < (%(ready_at)s, %(message_id)s)
    limit %(most)s
  ) earlier),
  case when %(limited)s then signalbox._free_in_flight(%(queue_id)s) end,
  case when %(limit)s > 0 then (select count(*) from (
    select from signalbox.lease l where l.queue_id = %(queue_id)s and l.deadline > now() limit %(limit)s
  ) held) end
