-- The cell that this database is, the home of the directory, and how new the copy of the directory is; no row where
-- this database is in no fleet.
select d.cell, d.home, d.version, extract(epoch from clock_timestamp() - d.copied_at)::double precision
from signalbox.fleet_directory d
