"""Error pages, and outages of the database in words."""
