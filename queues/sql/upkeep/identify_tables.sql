-- identify_tables(): give every logged table of the schema a replica identity. Without one PostgreSQL refuses each
-- update and delete as soon as any publication covers the table, and `create publication ... for all tables` covers
-- them all: every receive would fail (decision 46). Returns the tables that it changed. A locked table ends the call,
-- so that tables changed before it are not locked for long; the order is random, so that later calls reach the others.
create or replace function signalbox.identify_tables() returns text[]
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table regclass;
  v_identified text[] := '{}';
begin
  for v_table in
    select u.table_name from signalbox._unidentified_tables() u order by u.is_partition, random()
  loop
    begin
      perform signalbox._identify_table(v_table);
    exception
      when lock_not_available then
        exit;
    end;
    v_identified := v_identified || (select c.relname::text from pg_class c where c.oid = v_table);
  end loop;
  return v_identified;
end $$;
