"""Addresses of saved filters and suggestions."""

from __future__ import annotations

from django.urls import path

from console.filters import views as filters

urlpatterns = [
    path("saved-filters", filters.browse, name="saved_filters"),
    path("saved-filters/new", filters.save, name="saved_filter_new"),
    path("saved-filters/<row:saved_filter_id>", filters.change, name="saved_filter"),
    path("saved-filters/<row:saved_filter_id>/delete", filters.delete, name="saved_filter_delete"),
    path("filter-suggestions", filters.suggest, name="filter_suggestions"),
]
