"""Addresses of the first page."""

from __future__ import annotations

from django.urls import path

from console.overview import conditions
from console.overview import views as overview
from console.web.layout import register_notices
from console.web.sidebar import Item, register

urlpatterns = [
    path("", overview.show, name="overview"),
]

register(Item(10, "Overview", "overview", ("queue", "old"), overview.breaching, lights_lamp=True))
register_notices(conditions.notices)
