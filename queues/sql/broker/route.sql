-- route(exchange, routing_key): the queues and mailboxes that a message with this routing key reaches. Index:
-- binding_exchange.
create or replace function signalbox.route(exchange text, routing_key text)
returns table (name text, is_mailbox boolean)
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
