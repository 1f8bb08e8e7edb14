"""The frame of every page: layout, htmx, live updates, pagination, wording and errors. It knows no feature."""
