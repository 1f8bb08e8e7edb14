-- Enter a capture of a table into a stream, without anything that makes its events. Returns the id, and waits for
-- another capture of the table into the stream.
create or replace function signalbox._enter_capture(
  p_table regclass, p_stream text, p_columns text[], p_key text[], p_filter text, p_backfill boolean
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text[] := signalbox._key_columns(p_table, p_key);
  v_stream signalbox.stream;
  v_compiled record := signalbox._compile_filter(coalesce(p_filter, ''));
  v_capture_id integer;
begin
  select * into v_stream from signalbox.stream s where s.name = p_stream for key share;
  if not found then
    perform signalbox._refuse_unknown_stream(p_stream);
  end if;
  perform signalbox._check_columns(p_table, p_columns);
  insert into signalbox.capture (
    table_id, stream_id, columns, key, filter, conditions, negated, signature, backfilled_at
  )
  values (
    p_table, v_stream.stream_id, p_columns, v_key, coalesce(p_filter, ''), v_compiled.conditions, v_compiled.negated,
    signalbox._table_signature(p_table), case when p_backfill is not true then clock_timestamp() end
  )
  on conflict (table_id, stream_id) do nothing
  returning capture_id into v_capture_id;
  if v_capture_id is null then
    perform signalbox._refuse(
      'stream', format('captures the table %s already: uncapture it first', quote_literal(p_table::text))
    );
  end if;
  perform signalbox._audit_stream('capture.start', v_stream.name, jsonb_build_object(
    'table', p_table::text, 'columns', p_columns, 'key', v_key, 'filter', coalesce(p_filter, '')
  ));
  return v_capture_id;
end $$;
