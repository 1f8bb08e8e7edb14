-- Delete an old name of a queue, and the sequence that counts its use.
create or replace function signalbox._drop_alias(p_alias signalbox.queue_alias) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from signalbox.queue_alias a where a.name = p_alias.name;
  execute format('drop sequence %s', p_alias.last_used);
end $$;
