-- Refuse a subscription whose target already feeds its source, and one that makes a chain of more than eight queues:
-- every send of the first would send to all. The caller holds the lock of subscriptions.
create or replace function signalbox._refuse_circle(p_source signalbox.queue, p_target signalbox.queue) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  c_longest constant integer := 8;
  v_circle text;
  v_length integer;
begin
  with recursive onward as (
    select p_target.queue_id as queue_id, array[p_source.name, p_target.name]::text[] as names
    union all
    select s.target_queue_id, o.names || q.name::text
    from onward o
    join signalbox.queue_subscription s on s.source_queue_id = o.queue_id
    join signalbox.queue q on q.queue_id = s.target_queue_id
    where o.queue_id <> p_source.queue_id and cardinality(o.names) <= c_longest
  ), before as (
    select p_source.queue_id as queue_id, 0 as steps
    union all
    select s.source_queue_id, b.steps + 1
    from before b
    join signalbox.queue_subscription s on s.target_queue_id = b.queue_id
    where b.steps <= c_longest
  )
  select min(array_to_string(o.names, ' -> ')) filter (where o.queue_id = p_source.queue_id),
    max(cardinality(o.names)) + (select max(b.steps) from before b)
  into v_circle, v_length
  from onward o;
  if v_circle is not null then
    perform signalbox._refuse('target', format('%s would make a circle: %s', quote_literal(p_target.name), v_circle));
  end if;
  if v_length > c_longest then
    perform signalbox._refuse(
      'target', format('%s would make a chain of more than %s queues', quote_literal(p_target.name), c_longest)
    );
  end if;
end $$;
