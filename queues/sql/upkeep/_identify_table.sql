-- Give one table the cheapest identity: its parent's, otherwise its primary key, a unique index, or the whole row.
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
