-- identify_tables(): give every logged table of the schema a replica identity. Without one PostgreSQL refuses each update
-- and delete as soon as any publication covers the table, and `create publication ... for all tables` covers them all: every
-- receive would fail (ADR 46). Returns the tables that it changed. A table that is locked ends the call, so that the tables
-- changed before it are not locked for long; the order is random, so that later calls reach the others.
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

-- The cheapest identity of one table: its parent's, else its primary key, else a unique index, else the whole row.
create or replace function signalbox._identify_table(p_table regclass) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_index text;
begin
  if exists (select from pg_index i where i.indrelid = p_table and i.indisprimary) and not exists (
    select from pg_inherits h join pg_class p on p.oid = h.inhparent where h.inhrelid = p_table and p.relreplident = 'f'
  ) then
    execute format('alter table %s replica identity default', p_table);
    return;
  end if;
  select x.relname into v_index
  from pg_index i
  join pg_class x on x.oid = i.indexrelid
  join pg_class c on c.oid = i.indrelid and c.relkind = 'r' and not c.relispartition
  where i.indrelid = p_table
    and i.indisunique and i.indimmediate and i.indisvalid and i.indpred is null
    and not exists (
      select
      from unnest(i.indkey[0:i.indnkeyatts - 1]) k (attnum)
      left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum and a.attnum > 0
      where a.attnotnull is not true
    )
  order by i.indnkeyatts, x.relname
  limit 1;
  if found then
    execute format('alter table %s replica identity using index %I', p_table, v_index);
  else
    execute format('alter table %s replica identity full', p_table);
  end if;
end $$;

-- A partition that is about to be attached gets the identity of its parent: whole rows, or by default its primary key.
create or replace function signalbox._identify_partition(p_table text, p_parent text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from pg_class c where c.oid = format('signalbox.%I', p_parent)::regclass and c.relreplident = 'f';
  if found then
    execute format('alter table signalbox.%I replica identity full', p_table);
  end if;
end $$;
