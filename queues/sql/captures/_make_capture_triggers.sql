-- Make the triggers of one capture. PostgreSQL allows transition tables for one kind of statement each.
create or replace function signalbox._make_capture_triggers(p_table regclass, p_capture_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format(
    'create trigger %I after insert on %s referencing new table as new_rows for each statement'
    ' execute function signalbox._capture_changes(%L)',
    'signalbox_capture_insert_' || p_capture_id, p_table, p_capture_id
  );
  execute format(
    'create trigger %I after update on %s referencing old table as old_rows new table as new_rows for each statement'
    ' execute function signalbox._capture_changes(%L)',
    'signalbox_capture_update_' || p_capture_id, p_table, p_capture_id
  );
  execute format(
    'create trigger %I after delete on %s referencing old table as old_rows for each statement'
    ' execute function signalbox._capture_changes(%L)',
    'signalbox_capture_delete_' || p_capture_id, p_table, p_capture_id
  );
  execute format(
    'create trigger %I after truncate on %s for each statement execute function signalbox._capture_changes(%L)',
    'signalbox_capture_truncate_' || p_capture_id, p_table, p_capture_id
  );
end $$;
