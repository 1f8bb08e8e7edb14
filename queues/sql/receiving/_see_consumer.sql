-- Note that a consumer is receiving, at most once in 10 seconds for each session and queue, and not where another
-- session has just done so, so that a busy consumer costs nothing: behind a pooler a session serves many consumers in
-- turn. A row that another transaction writes is left alone: presence is not worth a wait.
create or replace function signalbox._see_consumer(p_queue_id integer, p_consumer text) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mark text := 'signalbox.seen_' || p_queue_id;
  v_seen text := current_setting(v_mark, true);
  v_consumer text := left(p_consumer, 200);
  v_last timestamptz;
  v_now text := v_consumer || '@' || (date_part('epoch', clock_timestamp())::bigint / 10);
begin
  if v_seen is not distinct from v_now then
    return;
  end if;
  -- Two sessions of one name must not wait for each other, and in two queues not in a circle.
  if not pg_try_advisory_xact_lock(p_queue_id, hashtext('seen ' || v_consumer)) then
    return;
  end if;
  perform set_config(v_mark, v_now, false);
  select c.last_seen_at into v_last from signalbox.consumer c where c.queue_id = p_queue_id and c.consumer = v_consumer;
  if not found then
    insert into signalbox.consumer (queue_id, consumer, last_seen_at)
    values (p_queue_id, v_consumer, clock_timestamp())
    on conflict do nothing;
    return;
  elsif v_last > clock_timestamp() - interval '5 seconds' then
    return;
  end if;
  with free as (
    select c.ctid as tid
    from signalbox.consumer c
    where c.queue_id = p_queue_id and c.consumer = v_consumer
    for update skip locked
  )
  update signalbox.consumer c set last_seen_at = clock_timestamp() from free where c.ctid = free.tid;
end $$;
