-- drop_queue(queue_name): move the queue's messages to the trash, for a day, and close the queue. Returns whether it
-- existed. The closed queue and the table pgmq.a_<queue> remain until they are deleted; create opens the queue again.
create or replace function pgmq.drop_queue(queue_name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from pgmq.meta m where m.queue_name = drop_queue.queue_name;
  if not found then
    return false;
  end if;
  perform pgmq.purge_queue(drop_queue.queue_name);
  perform signalbox.configure_queue(drop_queue.queue_name, '{"closed": true}');
  return true;
end $$;

create or replace function pgmq.drop_queue(queue_name text, partitioned boolean) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq.drop_queue(drop_queue.queue_name)
$$;
