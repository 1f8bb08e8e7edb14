"""Addresses of the first page."""

from __future__ import annotations

from django.urls import path

from console.overview import conditions
from console.overview import views as overview
from console.web.layout import register_notices
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("", overview.show, name="overview"),
]

NOUNS = ("queue", "fleet")
register(Item(Group.MONITOR, 10, "Queues", "overview", "queues", NOUNS, overview.breaching, lights_lamp=True))
register_notices(conditions.notices)
