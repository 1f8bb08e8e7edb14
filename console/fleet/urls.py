"""Address of the page *Fleet*, which the sidebar shows where queues are placed on cells."""

from __future__ import annotations

from django.urls import path

from console.fleet import views
from console.fleet.presence import is_fleet
from console.web.sidebar import Group, Item, register

urlpatterns = [path("fleet", views.show, name="fleet")]

register(Item(Group.MONITOR, 15, "Fleet", "fleet", "fleet", exists=is_fleet))
