"""Tenants, audit, maintenance, erasures, old snapshots, health and metrics."""
