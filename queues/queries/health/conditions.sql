-- Settings of this session on which durability depends, the maintenance that is on, the lead of the engine's clock,
-- and whether the directory of the fleet has another cell.
select
  s.settings,
  m.started_by,
  m.started_at,
  m.reason,
  m.until,
  m.holds_claims,
  m.refuses_sends,
  signalbox.clock_ahead_seconds() as clock_ahead_seconds,
  exists (select from signalbox.fleet_cell offset 1) as has_other_cells
from (select json_object_agg(p.name, p.setting) as settings from pg_settings p where p.name = any(%(names)s)) s
left join signalbox.maintenance m on true
