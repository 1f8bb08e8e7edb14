-- end_capture(capture_id): stop a capture by its number, also that of a table that was dropped since. Returns whether
-- there was one. Events that were appended stay in the stream.
create or replace function signalbox.end_capture(capture_id integer) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_capture signalbox.capture;
  v_table text;
begin
  delete from signalbox.capture c where c.capture_id = end_capture.capture_id returning * into v_capture;
  if not found then
    return false;
  end if;
  select t.oid::regclass::text into v_table from pg_class t where t.oid = v_capture.table_id;
  if found then
    perform signalbox._drop_capture_triggers(v_capture.table_id::regclass, v_capture.capture_id);
  end if;
  perform signalbox._audit_stream('capture.stop', s.name, jsonb_build_object('table', v_table))
  from signalbox.stream s
  where s.stream_id = v_capture.stream_id;
  if v_capture.slot is not null then
    perform signalbox._drop_capture_slot(v_capture.slot);
  end if;
  return true;
end $$;
