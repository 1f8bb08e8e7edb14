-- bind_queue(exchange, kind, routing_key, queue): route messages of an exchange to a queue or mailbox: all of them
-- (fanout), those with this routing key (direct), or those whose key matches it as a pattern (topic: * is one word, #
-- is any number of words). A second call for the same binding changes nothing. Indexes: binding_of_queue,
-- binding_of_mailbox.
create or replace function signalbox.bind_queue(exchange text, kind text, routing_key text, queue text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_mailbox_id bigint;
  v_queue_id integer;
begin
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  if bind_queue.exchange is null or length(bind_queue.exchange) not between 1 and 400 then
    perform signalbox._refuse('exchange', 'must have from 1 to 400 characters');
  end if;
  if bind_queue.kind is null or bind_queue.kind not in ('direct', 'topic', 'fanout') then
    perform signalbox._refuse(
      'kind',
      format('is %s: it must be direct, topic or fanout', coalesce(quote_literal(left(bind_queue.kind, 80)), 'null'))
    );
  end if;
  if bind_queue.routing_key is null or length(bind_queue.routing_key) > 400 then
    perform signalbox._refuse('routing_key', 'must have at most 400 characters');
  end if;
  select m.mailbox_id into v_mailbox_id from signalbox.mailbox m where m.name = bind_queue.queue for key share;
  if not found then
    select q.queue_id into v_queue_id from signalbox.queue q where q.name = bind_queue.queue;
    if not found then
      perform signalbox.bind_queue(
        bind_queue.exchange, bind_queue.kind, bind_queue.routing_key, signalbox._renamed(bind_queue.queue)
      );
      return;
    end if;
  end if;
  insert into signalbox.binding (exchange, kind, routing_key, pattern, queue_id, mailbox_id)
  select bind_queue.exchange, bind_queue.kind, bind_queue.routing_key,
    case when bind_queue.kind = 'topic'
      then signalbox._topic_pattern(bind_queue.routing_key) end, v_queue_id, v_mailbox_id
  where not exists (
    select from signalbox.binding b
    where b.exchange = bind_queue.exchange and b.routing_key = bind_queue.routing_key
      and (b.queue_id = v_queue_id or b.mailbox_id = v_mailbox_id)
  )
  on conflict do nothing;
end $$;
