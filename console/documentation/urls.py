"""The address of the documentation."""

from __future__ import annotations

from django.urls import path

from console.documentation import views
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("docs", views.show, name="docs"),
]

register(Item(Group.FOOT, 20, "Docs", "docs", "docs"))
