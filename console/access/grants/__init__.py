"""Grants: a role for the queues of a tenant, or for those whose names begin so; several add up (docs/run/roles.md)."""
