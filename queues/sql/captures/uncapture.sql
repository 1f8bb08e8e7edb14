-- uncapture(table_name, stream): stop the capture of a table. Returns whether there was one. Events that were appended
-- stay in the stream.
create or replace function signalbox.uncapture(table_name text, stream text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_table regclass := to_regclass(uncapture.table_name);
  v_stream signalbox.stream;
  v_capture_id integer;
begin
  select * into v_stream from signalbox.stream s where s.name = uncapture.stream;
  if not found then
    perform signalbox._refuse_unknown_stream(uncapture.stream);
  end if;
  if v_table is null then
    perform signalbox._captured_table(uncapture.table_name); -- refuses it
  end if;
  select c.capture_id into v_capture_id
  from signalbox.capture c
  where c.table_id = v_table and c.stream_id = v_stream.stream_id;
  return coalesce(signalbox.end_capture(v_capture_id), false);
end $$;
