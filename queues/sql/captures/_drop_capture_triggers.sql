-- Drop the triggers of one capture.
create or replace function signalbox._drop_capture_triggers(p_table regclass, p_capture_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kind text;
begin
  foreach v_kind in array array['insert', 'update', 'delete', 'truncate'] loop
    execute format(
      'drop trigger if exists %I on %s', 'signalbox_capture_' || v_kind || '_' || p_capture_id, p_table
    );
  end loop;
end $$;
