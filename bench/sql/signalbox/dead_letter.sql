with dead as (
  insert into signalbox.dead_letter (
    message_id, queue_id, source_queue_id, source_queue, payload, priority, sent_at, receive_count,
    first_failed_at, last_failed_at, reason, error_class, error, fingerprint, died_at, redrive_count
  )
  select nextval('signalbox.message_id'), signalbox._dead_letter_queue(q.queue_id), q.queue_id, q.name,
    '$payload'::jsonb, 0, clock_timestamp(), 5, clock_timestamp(), clock_timestamp(), 'runtime_error',
    'TimeoutError', 'timed out', 'fp-' || n % 500, clock_timestamp(), 0
  from generate_series(1, $messages) n, signalbox.queue q
  where q.name = '$queue'
  returning queue_id, source_queue_id
)
insert into signalbox.counter_delta (queue_id, event, amount)
select source_queue_id, event, count(*) from dead, unnest(array[1, 3, 9]) event group by source_queue_id, event
union all
select queue_id, 22, count(*) from dead group by queue_id
