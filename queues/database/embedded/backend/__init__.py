"""Django's PostgreSQL backend on the embedded server, which the first connection starts."""
