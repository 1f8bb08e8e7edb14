-- Return a trace id without control characters, which send refuses now.
create or replace function signalbox._printable(p_trace_id text) returns text
language sql
set search_path = pg_catalog, pg_temp
as $$
  select nullif(regexp_replace(p_trace_id, '[\u0001-\u001f\u007f-\u009f]', '', 'g'), '')
$$;
