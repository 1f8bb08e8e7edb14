-- A queue in whose log, or among whose kept bodies, a message is: a probe for each queue.
select q.name from signalbox.queue q join lateral (
  select from signalbox.message m where m.queue_id = q.queue_id and m.message_id = %(id)s
  union all
  select from signalbox.message_kept k where k.queue_id = q.queue_id and k.message_id = %(id)s
) found on true limit 1
