"""Addresses of the API reference and of problem types."""

from __future__ import annotations

from django.urls import path

from console.api_reference import views as api_reference

urlpatterns = [
    path("v1/docs", api_reference.show, name="reference"),
    path("problems/<slug:slug>", api_reference.problem, name="problem"),
]
