-- capture(table_name, stream, columns, key, filter, backfill): append each change of a table to a stream, in the
-- transaction of the writer: nothing is lost, and nothing of a transaction that is rolled back remains. An event is
-- {"op", "table", "key", "before", "after", "transaction_id", "order"}: op is insert, update, delete, truncate, schema
-- (the columns have changed) or backfill (a row that was there before). columns: the columns of before and after; null:
-- all. key: the columns that identify a row, which have a unique index and no nulls; null: the primary key. Its text is
-- the key of the message, so that the events of one row are in the order of commits. filter selects events
-- (docs/operate/filters.md), as payload.after.status:paid. A view, a foreign table, a partition, a temporary table and
-- a table without a key are refused. backfill: rows that are there already are appended by upkeep, each in its order
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
  v_capture_id integer := signalbox._enter_capture(
    v_table, capture.stream, capture.columns, capture.key, capture.filter, capture.backfill
  );
begin
  perform signalbox._make_capture_triggers(v_table, v_capture_id);
  return v_capture_id;
end $$;
