-- The hash of a row: of the previous hash and every field in one text. Times are whole microseconds. Rows that were
-- written before audit rows named the role have two fields fewer.
create or replace function signalbox._audit_hash(p_event signalbox.audit_event, p_position bigint, p_before bytea)
returns bytea
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select sha256(p_before || convert_to((jsonb_build_array(
    p_position, p_event.audit_event_id, (extract(epoch from p_event.at) * 1000000)::bigint, p_event.actor,
    p_event.action,
    p_event.queue_id, p_event.queue_name, p_event.reason, p_event.details
  ) || case when p_event.database_role is null then '[]'
    else jsonb_build_array(p_event.database_role, p_event.application_name) end)::text, 'UTF8'))
$$;
