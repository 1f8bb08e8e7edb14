"""The address of the palette."""

from __future__ import annotations

from django.urls import path

from console.palette import views as palette

urlpatterns = [
    path("palette", palette.search, name="palette"),
]
