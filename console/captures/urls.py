"""Addresses of the pages about captures of tables."""

from __future__ import annotations

from django.urls import path

from console.captures import views

urlpatterns = [
    path("captures", views.browse, name="captures"),
    path("streams/<queue:name>/new-capture", views.new, name="stream_capture"),
    path("streams/<queue:name>/captures/<row:capture_id>/end", views.end, name="capture_end"),
]
