-- Was this part's state written in another cluster? Transaction ids that are stored mean something where they were drawn and
-- nowhere else. A dump that is restored elsewhere shows by ids of its own that are ahead of the cluster's, for as long as the
-- cluster has not caught up, and by the system identifier for good. Where nothing is noted yet, it is noted: this is home.
-- Called by the folds, under their locks; a row read, and PostgreSQL's own control file.
create or replace function signalbox._is_from_elsewhere(p_part text, p_xmax bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_here bigint := signalbox._system_identifier();
  v_home bigint;
begin
  if p_xmax > pg_snapshot_xmax(pg_current_snapshot())::text::bigint then
    return true;
  end if;
  select h.system_identifier into v_home from signalbox.cluster_home h where h.part = p_part;
  if not found then
    perform signalbox._note_home(p_part);
    return false;
  end if;
  return v_home <> v_here;
end $$;

-- From here on this cluster's ids are this part's.
create or replace function signalbox._note_home(p_part text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into signalbox.cluster_home as h (part, system_identifier) values (p_part, signalbox._system_identifier())
  on conflict (part) do update set system_identifier = excluded.system_identifier, noted_at = clock_timestamp()
  where h.system_identifier <> excluded.system_identifier
$$;

-- 0 where a provider does not let one ask: there ids alone tell.
create or replace function signalbox._system_identifier() returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if has_function_privilege('pg_catalog.pg_control_system()', 'execute') then
    return (select s.system_identifier from pg_control_system() s);
  end if;
  return 0;
end $$;
