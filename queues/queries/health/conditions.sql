-- Settings of this session on which durability depends, the maintenance that is on, and the lead of the engine's
-- clock.
select
  s.settings,
  m.started_by,
  m.started_at,
  m.reason,
  m.until,
  m.holds_claims,
  m.refuses_sends,
  signalbox.clock_ahead_seconds() as clock_ahead_seconds
from (select json_object_agg(p.name, p.setting) as settings from pg_settings p where p.name = any(%(names)s)) s
left join signalbox.maintenance m on true
