-- unsubscribe(source, target, discard): end a subscription of one queue to another. Returns whether there was one. A
-- subscription that holds copies is refused, unless discard says that they may be lost.
create or replace function signalbox.unsubscribe(source text, target text, discard boolean default false)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_source signalbox.queue := signalbox._subscribed_queue('source', unsubscribe.source);
  v_target signalbox.queue := signalbox._subscribed_queue('target', unsubscribe.target, v_source.tenant_id);
  v_subscription_id integer;
  v_held bigint;
begin
  select s.subscription_id into v_subscription_id
  from signalbox.queue_subscription s
  where s.source_queue_id = v_source.queue_id and s.target_queue_id = v_target.queue_id
  for update;
  if not found then
    return false;
  end if;
  select count(*) into v_held from signalbox.held_copy h where h.subscription_id = v_subscription_id;
  if v_held > 0 and unsubscribe.discard is not true then
    perform signalbox._refuse(
      'discard', format('must be true to lose the %s copies that the subscription holds', v_held)
    );
  end if;
  delete from signalbox.queue_subscription s where s.subscription_id = v_subscription_id;
  update signalbox.queue q set paused = q.paused where q.queue_id = v_source.queue_id; -- _set_admission_flags
  perform signalbox._audit_verb('subscription.end', v_source.queue_id, v_source.name, jsonb_build_object(
    'target', v_target.name, 'discarded', v_held
  ));
  return true;
end $$;
