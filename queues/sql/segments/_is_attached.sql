-- Return whether a table is attached to its partitioned table.
create or replace function signalbox._is_attached(p_name text) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where c.relname = p_name and c.relnamespace = 'signalbox'::regnamespace
  )
$$;
