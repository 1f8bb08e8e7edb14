-- Detach a partition, or finish a detachment that was begun concurrently.
create or replace function signalbox._detach(p_parent text, p_name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_begun boolean;
begin
  select i.inhdetachpending into v_begun from pg_inherits i where i.inhrelid = format('signalbox.%I', p_name)::regclass;
  execute format(
    'alter table signalbox.%I detach partition signalbox.%I %s', p_parent, p_name, case when v_begun then 'finalize'
      else '' end
  );
end $$;
