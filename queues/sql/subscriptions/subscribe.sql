-- subscribe(source, target, filter, delay_seconds): send each message that is sent to the queue source to the queue
-- target too, in the transaction of the send, if the filter selects it (docs/operate/filters.md; by payload, attr,
-- group, priority and trace; empty: all). The copy has an id, a lease, retries and dead letters of its own; its delay
-- is delay_seconds, or as the target's setting says. Deduplication ids stay with the source; redriven and replayed
-- messages are not copied again. While the subscription is paused, or the target is closed or full, copies are held,
-- and upkeep sends them in their order. Repeating it sets filter and delay. A circle of queues is refused. Returns the
-- id.
create or replace function signalbox.subscribe(
  source text, target text, filter text default '', delay_seconds double precision default null
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_source signalbox.queue;
  v_target signalbox.queue;
  v_compiled record;
  v_subscription_id integer;
begin
  perform pg_advisory_xact_lock(hashtext('signalbox.subscriptions'), 0); -- so that two calls together make no circle
  v_source := signalbox._subscribed_queue('source', subscribe.source);
  v_target := signalbox._subscribed_queue('target', subscribe.target, v_source.tenant_id);
  perform signalbox._refuse_placed('source', v_source);
  perform signalbox._refuse_placed('target', v_target);
  if subscribe.delay_seconds is not null and (subscribe.delay_seconds between 0 and 31536000) is not true then
    perform signalbox._refuse(
      'delay_seconds', format('is %s: it must be from 0 to 31536000 (a year)', subscribe.delay_seconds)
    );
  end if;
  if subscribe.delay_seconds > 0 and v_target.mode = 'fifo' then
    perform signalbox._refuse('delay_seconds', 'must be 0: the target is a FIFO queue, which delays no message');
  end if;
  v_compiled := signalbox._compile_filter(coalesce(subscribe.filter, ''));
  perform signalbox._refuse_circle(v_source, v_target);
  insert into signalbox.queue_subscription (
    source_queue_id, target_queue_id, filter, conditions, negated, delay_seconds
  )
  values (
    v_source.queue_id, v_target.queue_id, coalesce(subscribe.filter, ''), v_compiled.conditions, v_compiled.negated,
    subscribe.delay_seconds
  )
  on conflict (source_queue_id, target_queue_id) do update
  set filter = excluded.filter,
    conditions = excluded.conditions,
    negated = excluded.negated,
    delay_seconds = excluded.delay_seconds
  returning subscription_id into v_subscription_id;
  update signalbox.queue q set paused = q.paused where q.queue_id = v_source.queue_id; -- _set_admission_flags
  perform signalbox._audit_verb('subscription.set', v_source.queue_id, v_source.name, jsonb_build_object(
    'target', v_target.name, 'filter', coalesce(subscribe.filter, ''), 'delay_seconds', subscribe.delay_seconds
  ));
  return v_subscription_id;
end $$;
