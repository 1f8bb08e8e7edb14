"""Addresses of history charts."""

from __future__ import annotations

from django.urls import path

from console.charts import markers
from console.history import made_up
from console.history import views as history
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("queues/<queue:name>/history", history.of_queue, name="queue_history"),
    path("tenants/<row:tenant_id>/history", history.of_tenant_queues, name="tenant_history"),
    path("history", history.of_all, name="history"),
]

markers.register(made_up.marks)
register(Item(Group.MONITOR, 60, "Metrics", "history", "metrics", ("old_snapshots",)))
