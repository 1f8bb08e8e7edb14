-- bind_queue(exchange, kind, routing_key, queue): messages published to this exchange reach this queue or mailbox: all of
-- them (fanout), those of this routing key (direct), or those whose key matches it as a pattern (topic: * is one word, #
-- any number of them). Binding twice is binding once. Indexes: binding_of_queue, binding_of_mailbox.
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
    perform signalbox._refuse('kind', format('is %s: it must be direct, topic or fanout', coalesce(quote_literal(left(bind_queue.kind, 80)), 'null')));
  end if;
  if bind_queue.routing_key is null or length(bind_queue.routing_key) > 400 then
    perform signalbox._refuse('routing_key', 'must have at most 400 characters');
  end if;
  select m.mailbox_id into v_mailbox_id from signalbox.mailbox m where m.name = bind_queue.queue for key share;
  if not found then
    select q.queue_id into v_queue_id from signalbox.queue q where q.name = bind_queue.queue;
    if not found then
      perform signalbox.bind_queue(bind_queue.exchange, bind_queue.kind, bind_queue.routing_key, signalbox._renamed(bind_queue.queue));
      return;
    end if;
  end if;
  insert into signalbox.binding (exchange, kind, routing_key, pattern, queue_id, mailbox_id)
  select bind_queue.exchange, bind_queue.kind, bind_queue.routing_key,
    case when bind_queue.kind = 'topic' then signalbox._topic_pattern(bind_queue.routing_key) end, v_queue_id, v_mailbox_id
  where not exists (
    select from signalbox.binding b
    where b.exchange = bind_queue.exchange and b.routing_key = bind_queue.routing_key
      and (b.queue_id = v_queue_id or b.mailbox_id = v_mailbox_id)
  )
  on conflict do nothing;
end $$;

-- unbind_queue(exchange, routing_key, queue): they no longer do; false when they did not.
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

-- route(exchange, routing_key): the queues and mailboxes that a message published so reaches. Index:
-- binding_exchange.
create or replace function signalbox.route(exchange text, routing_key text) returns table (name text, is_mailbox boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select coalesce(q.name::text, m.name), m.name is not null
  from signalbox.binding b
  left join signalbox.queue q on q.queue_id = b.queue_id
  left join signalbox.mailbox m on m.mailbox_id = b.mailbox_id
  where b.exchange = route.exchange
    and case b.kind
      when 'fanout' then true
      when 'direct' then b.routing_key = route.routing_key
      else '.' || route.routing_key ~ b.pattern
    end
  group by 1, 2
  order by 1;
end $$;

-- What the words of a routing key must look like, each after a dot.
create or replace function signalbox._topic_pattern(p_key text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select '^' || string_agg(
    case w.word
      when '#' then '(\.[^.]*)*'
      when '*' then '\.[^.]+'
      else '\.' || regexp_replace(w.word, '([][\\^$.|?*+(){}])', '\\\1', 'g')
    end, '' order by w.place
  ) || '$'
  from unnest(case when p_key = '' then array[''] else string_to_array(p_key, '.') end) with ordinality w(word, place)
$$;
