-- announce_consumer(queue, consumer, details): report who is receiving and with what (host, pid, concurrency, version).
-- Workers call it every 10 seconds; a consumer unseen for 60 seconds no longer counts. Never waits: a row that another
-- transaction is writing is left alone (as in _see_consumer).
create or replace function signalbox.announce_consumer(queue text, consumer text, details jsonb default '{}')
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
begin
  select q.queue_id into v_queue_id from signalbox.queue q where q.name = announce_consumer.queue;
  if not found then
    perform signalbox.announce_consumer(
      signalbox._renamed(announce_consumer.queue), announce_consumer.consumer, announce_consumer.details
    );
    return;
  end if;
  if announce_consumer.consumer is null or length(announce_consumer.consumer) not between 1 and 200 then
    perform signalbox._refuse('consumer', 'must have from 1 to 200 characters');
  end if;
  perform signalbox._check_readable('details', announce_consumer.details);
  if not pg_try_advisory_xact_lock(v_queue_id, hashtext('seen ' || announce_consumer.consumer)) then
    return;
  end if;
  if not exists (
    select from signalbox.consumer c where c.queue_id = v_queue_id and c.consumer = announce_consumer.consumer
  ) then
    insert into signalbox.consumer (queue_id, consumer, last_seen_at, details)
    values (v_queue_id, announce_consumer.consumer, clock_timestamp(), coalesce(announce_consumer.details, '{}'))
    on conflict do nothing;
    return;
  end if;
  with free as (
    select c.ctid as tid
    from signalbox.consumer c
    where c.queue_id = v_queue_id and c.consumer = announce_consumer.consumer
    for update skip locked
  )
  update signalbox.consumer c
  set last_seen_at = clock_timestamp(), details = coalesce(announce_consumer.details, '{}')
  from free f
  where c.ctid = f.tid;
end $$;
