"""Addresses of the audit, maintenance, tenants, erasures, health and metrics."""

from __future__ import annotations

from django.urls import path

from console.administration import audit, erasures, maintenance, monitoring_views, old_snapshots, schedules, tenants
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("queues/<queue:name>/audit", audit.of_queue, name="queue_audit"),
    path("old-snapshots", old_snapshots.browse, name="old_snapshots"),
    path("schedules", schedules.browse, name="schedules"),
    path("tenants", tenants.browse, name="tenants"),
    path("tenants/<row:tenant_id>", tenants.edit, name="tenant"),
    path("audit", audit.browse, name="audit"),
    path("maintenance", maintenance.show, name="maintenance"),
    path("maintenance/plan", maintenance.plan, name="maintenance_plan"),
    path("maintenance/begin", maintenance.begin, name="maintenance_begin"),
    path("maintenance/end", maintenance.end, name="maintenance_end"),
    path("erasures", erasures.browse, name="erasures"),
    path("erasures/new", erasures.new, name="erasure_new"),
    path("erasures/<row:erasure_id>", erasures.show, name="erasure"),
    path("erasures/<row:erasure_id>/report", erasures.download, name="erasure_report"),
    path("erasures/<row:erasure_id>/<slug:verb>", erasures.change, name="erasure_change"),
    path("healthz", monitoring_views.healthz, name="healthz"),
    path("metrics", monitoring_views.metrics, name="metrics"),
    path("metrics/queues", monitoring_views.queues, name="metrics_queues"),
    path("metrics/settings", monitoring_views.queue_settings, name="metrics_settings"),
]

register(
    Item(Group.ARCHIVE, 40, "Schedules", "schedules", "schedules"),
    Item(Group.ADMIN, 10, "Tenants & quotas", "tenants", "tenants", ("tenant",)),
    Item(Group.ADMIN, 40, "Maintenance mode", "maintenance", "maintenance", ("maintenance",), permission="maintain"),
    Item(Group.ADMIN, 50, "Audit log", "audit", "audit"),
)
