"""Addresses of the API reference and of problem types."""

from __future__ import annotations

from django.urls import path

from console.api_reference import views as api_reference
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("v1/docs", api_reference.show, name="reference"),
    path("problems/<slug:slug>", api_reference.problem, name="problem"),
]

register(Item(Group.FOOT, 10, "HTTP API", "reference", "api", ("problem",)))
