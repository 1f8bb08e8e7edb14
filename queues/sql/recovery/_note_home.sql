-- Note that this part's transaction ids are those of this server.
create or replace function signalbox._note_home(p_part text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into signalbox.cluster_home as h (part, system_identifier) values (p_part, signalbox._system_identifier())
  on conflict (part) do update set system_identifier = excluded.system_identifier, noted_at = clock_timestamp()
  where h.system_identifier <> excluded.system_identifier
$$;
