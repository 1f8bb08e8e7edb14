-- lower_floors(token, bound): set every claim floor that is above the bound to the bound, once. A writer that was
-- skipped because it stayed open too long has ended, and its tickets lie above the bound; the next advance_floor finds
-- them.
create or replace function signalbox.lower_floors(token uuid, bound bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if not signalbox._leads(lower_floors.token) then
    return null;
  end if;
  perform setval(h.floor, greatest(lower_floors.bound, 0))
  from signalbox.claim_floor h
  where h.floor is not null and pg_sequence_last_value(h.floor) > lower_floors.bound;
  perform signalbox._distrust_lanes();
  return true;
end $$;
