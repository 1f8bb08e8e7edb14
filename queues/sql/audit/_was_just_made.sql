-- Return whether this transaction made the queue with these settings: an audit row without a position in the chain is
-- its own. Index: audit_event_queue.
create or replace function signalbox._was_just_made(p_queue_id integer, p_settings jsonb) returns boolean
language sql stable
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
  select coalesce((
    select e.position is null and e.action = 'queue.create' and e.details -> 'settings' @> p_settings
    from signalbox.audit_event e
    where e.queue_id = p_queue_id
    order by e.audit_event_id desc
    limit 1
  ), false)
$$;
revoke execute on function signalbox._was_just_made(integer, jsonb) from public;
