-- Return whether this part's state was written on another server. Stored transaction ids have a meaning only on the
-- server that gave them out. A dump that was restored on another server is recognised by ids that are ahead of that
-- server's ids, or by the system identifier. If no server is noted for this part yet, this server is noted. Called by
-- the aggregations, under their locks; reads one row, and PostgreSQL's own control file.
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
