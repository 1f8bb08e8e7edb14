"""Grants: roles for the queues of a tenant or of a name prefix. Grants are additive (docs/run/roles.md)."""
