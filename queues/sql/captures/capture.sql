-- capture(table_name, stream, columns, key, filter, backfill): append each change of a table to a stream, in the
-- transaction of the writer: nothing is lost, and nothing of a transaction that is rolled back remains. An event is
-- {"op", "table", "key", "before", "after", "transaction_id", "order"}: op is insert, update, delete, truncate, schema
-- (the columns have changed) or backfill (a row that was there before). columns: the columns of before and after; null:
-- all. key: the columns that identify a row, which have a unique index and no nulls; null: the primary key. Its text is
-- the key of the message, so that the events of one row are in the order of commits. filter selects events
-- (docs/operate/filters.md), as payload.after.status:paid. A view, a foreign table, a partition, a temporary table and a
-- table without a key are refused. backfill: rows that are there already are appended by upkeep, each in its order
-- among the changes. Returns the id. Waits for the writers of the table that are under way. Call it as a role that may
-- make triggers on the table and owns Signalbox.
create or replace function signalbox.capture(
  table_name text,
  stream text,
  columns text[] default null,
  key text[] default null,
  filter text default '',
  backfill boolean default true
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_table regclass := signalbox._captured_table(capture.table_name);
  v_key text[] := signalbox._key_columns(v_table, capture.key);
  v_stream signalbox.stream;
  v_compiled record := signalbox._compile_filter(coalesce(capture.filter, ''));
  v_capture_id integer;
begin
  select * into v_stream from signalbox.stream s where s.name = capture.stream for key share;
  if not found then
    perform signalbox._refuse_unknown_stream(capture.stream);
  end if;
  perform signalbox._check_columns(v_table, capture.columns);
  insert into signalbox.capture (
    table_id, stream_id, columns, key, filter, conditions, negated, signature, backfilled_at
  )
  values (
    v_table, v_stream.stream_id, capture.columns, v_key, coalesce(capture.filter, ''), v_compiled.conditions,
    v_compiled.negated, signalbox._table_signature(v_table),
    case when capture.backfill is not true then clock_timestamp() end
  )
  on conflict (table_id, stream_id) do nothing
  returning capture_id into v_capture_id;
  if v_capture_id is null then
    perform signalbox._refuse(
      'stream', format('captures the table %s already: uncapture it first', quote_literal(v_table::text))
    );
  end if;
  perform signalbox._make_capture_triggers(v_table, v_capture_id);
  perform signalbox._audit_stream('capture.start', v_stream.name, jsonb_build_object(
    'table', v_table::text, 'columns', capture.columns, 'key', v_key, 'filter', coalesce(capture.filter, '')
  ));
  return v_capture_id;
end $$;
