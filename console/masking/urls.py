"""Addresses of masking rules."""

from __future__ import annotations

from django.urls import path

from console.masking import views as masking
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("masking", masking.browse, name="masking"),
    path("masking/<row:rule_id>/remove", masking.remove, name="masking_remove"),
]

NOUNS = ("masking", "erasures", "erasure")
register(Item(Group.ADMIN, 30, "Privacy", "masking", "privacy", NOUNS, permission="mask"))
