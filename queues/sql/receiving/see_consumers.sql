-- see_consumers(queues, consumers): note that these consumers wait for messages of these queues, pair by pair, as
-- receive does for one consumer. For processes that wait for many consumers. A consumer unseen for 60 seconds no longer
-- counts. Deleted queues are skipped. Rows are written in order, and a row that another transaction writes is left
-- alone: presence is not worth a wait.
create or replace function signalbox.see_consumers(queues text[], consumers text[]) returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_seen integer;
begin
  with given as materialized (
    select distinct q.queue_id, left(g.consumer, 200) as consumer
    from unnest(see_consumers.queues, see_consumers.consumers) g(queue, consumer)
    join signalbox.queue q on q.queue_id = coalesce(
      (select n.queue_id from signalbox.queue n where n.name = g.queue),
      (select a.queue_id from signalbox.queue_alias a where a.name = g.queue and a.works_until > clock_timestamp())
    )
    where g.consumer <> ''
    order by 1, 2
  ), free as materialized (
    select c.ctid as tid
    from given g
    join signalbox.consumer c on c.queue_id = g.queue_id and c.consumer = g.consumer
    order by c.queue_id, c.consumer
    for update of c skip locked
  ), known as (
    update signalbox.consumer c set last_seen_at = clock_timestamp() from free f where c.ctid = f.tid
  ), added as (
    insert into signalbox.consumer (queue_id, consumer, last_seen_at)
    select g.queue_id, g.consumer, clock_timestamp()
    from given g
    where not exists (select from signalbox.consumer c where c.queue_id = g.queue_id and c.consumer = g.consumer)
      and pg_try_advisory_xact_lock(g.queue_id, hashtext('seen ' || g.consumer))
    order by g.queue_id, g.consumer
    on conflict do nothing
  )
  select count(*) into v_seen from given;
  return v_seen;
end $$;
