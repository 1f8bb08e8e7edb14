-- Take the first free long poll of a tenant, except those that this session holds (ascending): a session's own locks
-- look free to it.
create or replace function signalbox._begin_long_poll(p_tenant signalbox.tenant, p_held integer[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key integer := signalbox._long_poll_key(p_tenant.tenant_id);
  v_next integer := 1; -- in p_held
begin
  if coalesce(p_tenant.max_long_polls, 0) = 0 then
    return null;
  end if;
  for v_place in 1..p_tenant.max_long_polls loop
    if v_place = p_held[v_next] then
      v_next := v_next + 1;
    elsif pg_try_advisory_lock(v_key, v_place) then
      return v_place;
    end if;
  end loop;
  perform signalbox._refuse_tenant(
    p_tenant, 'long_polls', 'max_long_polls', p_tenant.max_long_polls, p_tenant.max_long_polls + 1, 1
  );
end $$;
