-- pause_subscription(source, target, paused): pause or resume one subscription of a queue. A paused one holds its
-- copies, and upkeep sends them after it is resumed. Returns whether that changed anything.
create or replace function signalbox.pause_subscription(source text, target text, paused boolean default true)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_source signalbox.queue := signalbox._subscribed_queue('source', pause_subscription.source);
  v_target signalbox.queue := signalbox._subscribed_queue('target', pause_subscription.target, v_source.tenant_id);
begin
  if pause_subscription.paused is null then
    perform signalbox._refuse('paused', 'is null: it must be true or false');
  end if;
  if not exists (
    select from signalbox.queue_subscription s
    where s.source_queue_id = v_source.queue_id and s.target_queue_id = v_target.queue_id
  ) then
    perform signalbox._refuse('target', format('%s does not subscribe to %s', quote_literal(v_target.name),
      quote_literal(v_source.name)));
  end if;
  update signalbox.queue_subscription s
  set paused = pause_subscription.paused
  where s.source_queue_id = v_source.queue_id and s.target_queue_id = v_target.queue_id
    and s.paused <> pause_subscription.paused;
  if not found then
    return false;
  end if;
  perform signalbox._audit_verb(
    case when pause_subscription.paused then 'subscription.pause' else 'subscription.resume' end, v_source.queue_id,
    v_source.name, jsonb_build_object('target', v_target.name)
  );
  return true;
end $$;
