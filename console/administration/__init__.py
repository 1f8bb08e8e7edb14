"""Pages of the audit, maintenance, tenants, erasures and old snapshots; endpoints for metrics and health."""
