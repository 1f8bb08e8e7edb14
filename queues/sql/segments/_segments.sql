-- Return the numbers of the segments that the log has, by the catalog. The table `segment` learns of one only at the
-- next upkeep, and a sender may have made a segment since.
create or replace function signalbox._segments() returns setof bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select substring(c.relname from '^message_(\d+)$')::bigint
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'signalbox.message'::regclass
$$;
