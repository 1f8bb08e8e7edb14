-- The logged tables of the schema without a usable identity: no primary key, and none chosen; and the partitions whose
-- parent logs whole rows while they do not, which a publication by way of the parent would misread.
create or replace function signalbox._unidentified_tables() returns table (table_name regclass, is_partition boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.oid::regclass, c.relispartition
  from pg_class c
  left join pg_inherits h on h.inhrelid = c.oid
  left join pg_class p on p.oid = h.inhparent
  where c.relnamespace = 'signalbox'::regnamespace
    and c.relkind in ('r', 'p')
    and c.relpersistence = 'p'
    and c.relreplident <> 'f'
    and (
      p.relreplident = 'f'
      or c.relreplident = 'n'
      or not exists (
        select from pg_index i
        where i.indrelid = c.oid
          and case c.relreplident when 'i' then i.indisreplident else i.indisprimary end
      )
    )
$$;
