-- announce_consumer(queue, consumer, details): say who is receiving and with what (host, pid, concurrency, version).
-- Workers call it every 10 s; a consumer unseen for 60 s no longer counts. Locks the consumer's own row.
create or replace function signalbox.announce_consumer(queue text, consumer text, details jsonb default '{}') returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
begin
  select q.queue_id into v_queue_id from signalbox.queue q where q.name = announce_consumer.queue;
  if not found then
    perform signalbox.announce_consumer(signalbox._renamed(announce_consumer.queue), announce_consumer.consumer, announce_consumer.details);
    return;
  end if;
  if announce_consumer.consumer is null or length(announce_consumer.consumer) not between 1 and 200 then
    perform signalbox._refuse('consumer', 'must have from 1 to 200 characters');
  end if;
  perform signalbox._check_readable('details', announce_consumer.details);
  insert into signalbox.consumer as c (queue_id, consumer, last_seen_at, details)
  values (v_queue_id, announce_consumer.consumer, clock_timestamp(), coalesce(announce_consumer.details, '{}'))
  on conflict (queue_id, consumer) do update set last_seen_at = excluded.last_seen_at, details = excluded.details;
end $$;
