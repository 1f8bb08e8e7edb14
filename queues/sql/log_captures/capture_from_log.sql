-- capture_from_log(table_name, stream, columns, filter): capture a table as capture does, without triggers: upkeep
-- reads its changes from PostgreSQL's log, by a replication slot and a publication of this one table. Writers of the
-- table pay nothing. The server needs wal_level = logical, and the table a primary key. Changes come after the commit,
-- in the order of commits; before has the whole row only where the table has "replica identity full", otherwise a
-- delete has the key, and an update nothing. Rows that are there already do not come. Returns the id. Call
-- open_capture_slot in a transaction of its own afterwards: changes count from then on. Call it as the owner of the
-- table and of Signalbox, with the right to create in the database.
create or replace function signalbox.capture_from_log(
  table_name text, stream text, columns text[] default null, filter text default ''
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_table regclass := signalbox._captured_table(capture_from_log.table_name);
  v_capture_id integer;
  v_slot text;
begin
  if current_setting('wal_level') <> 'logical' then
    perform signalbox._refuse('table_name', format(
      'cannot be captured from the log: wal_level is %s, and must be logical', current_setting('wal_level')
    ));
  end if;
  if exists (select from pg_class c where c.oid = v_table and c.relreplident not in ('d', 'f')) then
    perform signalbox._refuse('table_name', format(
      'is %s, whose replica identity is neither default nor full', quote_literal(v_table::text)
    ));
  end if;
  v_capture_id := signalbox._enter_capture(
    v_table, capture_from_log.stream, capture_from_log.columns, null, capture_from_log.filter, false
  );
  v_slot := format('signalbox_capture_%s_%s', (select d.oid from pg_database d where d.datname = current_database()),
    v_capture_id);
  update signalbox.capture c set slot = v_slot, applied_lsn = '0/0' where c.capture_id = v_capture_id;
  execute format('create publication %I for table %s with (publish_via_partition_root = true)', v_slot, v_table);
  return v_capture_id;
end $$;
