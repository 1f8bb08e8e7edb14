"""Addresses of live updates and preferences."""

from __future__ import annotations

from django.urls import path

from console.web import live, preferences

urlpatterns = [
    path("live", live.stream, name="live"),
    path("preferences", preferences.change, name="preferences"),
]
