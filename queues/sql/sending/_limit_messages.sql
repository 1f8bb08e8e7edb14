-- Store the limits of messages that were just sent. p_before is the last id before: a send that found the message of
-- its deduplication id leaves that message as it is. Indexes: message_pkey, queue_alias_pkey.
create or replace function signalbox._limit_messages(
  p_queue text, p_ids bigint[], p_expires timestamptz[], p_max_receives integer[], p_before bigint
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue_id integer := coalesce(
    (select q.queue_id from signalbox.queue q where q.name = p_queue),
    (select a.queue_id from signalbox.queue_alias a where a.name = p_queue)
  );
begin
  with given as materialized (
    select p_ids[i] as message_id, p_expires[i] as expires_at, p_max_receives[i] as max_receives
    from generate_subscripts(p_ids, 1) i
    where p_ids[i] > p_before and num_nonnulls(p_expires[i], p_max_receives[i]) > 0
  ), logged as (
    update signalbox.message m
    set expires_at = g.expires_at
    from given g
    where m.queue_id = v_queue_id and m.message_id = g.message_id and m.txid = pg_current_xact_id()
    returning m.message_id
  )
  insert into signalbox.message_limit (message_id, queue_id, expires_at, max_receives, look_at)
  select g.message_id, v_queue_id, g.expires_at, g.max_receives,
    coalesce(g.expires_at, clock_timestamp() + interval '1 hour')
  from given g
  join logged l on l.message_id = g.message_id
  on conflict do nothing;
end $$;
