-- The queue of one end of a subscription, kept until the commit; refuses one that does not exist, of another tenant, or
-- that keeps dead letters. The error's column names the end.
create or replace function signalbox._subscribed_queue(p_field text, p_name text, p_tenant_id integer default null)
returns signalbox.queue
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue signalbox.queue;
begin
  select q.* into v_queue
  from signalbox.queue q
  where q.name = p_name and q.tenant_id = coalesce(p_tenant_id, q.tenant_id)
  for key share;
  if not found then
    raise exception using
      errcode = 'SB404',
      message = format('%s: queue %s does not exist', p_field, coalesce(quote_literal(left(p_name, 120)), 'null')),
      column = p_field;
  end if;
  if v_queue.is_dead_letter_queue then
    perform signalbox._refuse(p_field, format('is %s, a dead-letter queue', quote_literal(p_name)));
  end if;
  return v_queue;
end $$;
