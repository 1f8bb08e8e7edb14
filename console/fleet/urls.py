"""Addresses of the page *Fleet*, a tab of *Queues* where the fleet has a second cell."""

from __future__ import annotations

from django.urls import path

from console.fleet import redrive_views, views
from console.fleet.presence import is_fleet
from console.web.sidebar import Group, Item, register

PART = "fleet/redrives/<row:fleet_redrive_id>"
urlpatterns = [
    path("fleet", views.show, name="fleet"),
    path(PART, redrive_views.show, name="fleet_redrive"),
    path(f"{PART}/run", redrive_views.run, name="fleet_redrive_run"),
    path(f"{PART}/pause", redrive_views.change, {"verb": "pause"}, name="fleet_redrive_pause"),
    path(f"{PART}/resume", redrive_views.change, {"verb": "resume"}, name="fleet_redrive_resume"),
    path(f"{PART}/cancel", redrive_views.change, {"verb": "cancel"}, name="fleet_redrive_cancel"),
]

register(Item(Group.MONITOR, 15, "Fleet", "fleet", "fleet", has_line=False, exists=is_fleet))
