-- Give a partition that is about to be attached the identity of its parent: whole rows, or by default its primary key.
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
