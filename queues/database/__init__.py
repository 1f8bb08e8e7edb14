"""Connections to PostgreSQL, installing the SQL verbs, roles, failover and the embedded server."""
