"""Django's PostgreSQL backend on the embedded server: what needs a connection starts it."""
