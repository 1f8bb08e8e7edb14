-- unbind_queue(exchange, routing_key, queue): remove a binding. Returns false when there was none.
create or replace function signalbox.unbind_queue(exchange text, routing_key text, queue text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  delete from signalbox.binding b
  where b.exchange = unbind_queue.exchange and b.routing_key = unbind_queue.routing_key
    and (
      b.mailbox_id = (select m.mailbox_id from signalbox.mailbox m where m.name = unbind_queue.queue)
      or b.queue_id = (select q.queue_id from signalbox.queue q where q.name = unbind_queue.queue)
    );
  return found;
end $$;
