-- Write the audit's row of a verb that changes a stream, which the audit knows by its name.
create or replace function signalbox._audit_stream(p_action text, p_stream text, p_details jsonb) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select signalbox._audit_verb(p_action, null, null, jsonb_build_object('stream', p_stream) || p_details)
$$;
