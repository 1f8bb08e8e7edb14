-- The cells of the fleet by name.
select c.name, c.url, c.region from signalbox.fleet_cell c order by c.name
