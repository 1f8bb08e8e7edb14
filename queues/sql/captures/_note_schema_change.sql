-- Append the new columns of a table that was altered, once: before the first change that has them.
create or replace function signalbox._note_schema_change(p_capture_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_signature text;
begin
  select signalbox._table_signature(c.table_id) into v_signature from signalbox.capture c
  where c.capture_id = p_capture_id;
  update signalbox.capture c set signature = v_signature
  where c.capture_id = p_capture_id and c.signature is distinct from v_signature;
  if found then
    perform signalbox._append_to_all_partitions(p_capture_id, 'schema', jsonb_build_object('columns', v_signature));
  end if;
end $$;
