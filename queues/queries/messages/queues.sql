-- Queues that have a row about a message, the likeliest first; the log is not searched.
select q.name from signalbox.queue q
join (
  select 1 as position, queue_id from signalbox.lease where message_id = %(id)s
  union all select 2, queue_id from signalbox.scheduled where message_id = %(id)s
  union all select 3, source_queue_id from signalbox.dead_letter where message_id = %(id)s
  union all select 4, queue_id from signalbox.failure where message_id = %(id)s
  union all select 5, queue_id from signalbox.redriven where message_id = %(id)s
  union all select 6, queue_id from signalbox.trash where message_id = %(id)s
) mark using (queue_id)
group by q.name order by min(mark.position)
