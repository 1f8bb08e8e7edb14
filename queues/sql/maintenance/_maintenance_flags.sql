-- The admission flags that maintenance adds to each queue of a tenant, for the trigger _set_admission_flags: send and
-- receive read no more than without maintenance, and a queue's own `paused` and `closed` stay as they are.
-- signalbox.maintenance has one row while maintenance is on.
create or replace function signalbox._maintenance_flags(p_tenant text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if to_regclass('signalbox.maintenance') is null then
    return 0; -- migrations were reversed, and this function still exists
  end if;
  return coalesce((
    select case when m.holds_claims then {flag.holds_claims} else 0 end
      -- Signalbox's own tasks are still sent
      + case when m.refuses_sends and p_tenant <> 'system' then {flag.refuses_sends} else 0 end
    from signalbox.maintenance m
  ), 0);
end $$;
