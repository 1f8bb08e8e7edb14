"""Addresses of the pages about subscriptions."""

from __future__ import annotations

from django.urls import path

from console.subscriptions import views
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("subscriptions", views.browse, name="subscriptions"),
    path("queues/<queue:name>/new-subscription", views.new, name="subscription_new"),
    path("queues/<queue:name>/subscriptions/<queue:target>/pause", views.pause, name="subscription_pause"),
    path("queues/<queue:name>/subscriptions/<queue:target>/resume", views.resume, name="subscription_resume"),
    path("queues/<queue:name>/subscriptions/<queue:target>/end", views.end, name="subscription_end"),
]

register(Item(Group.MONITOR, 45, "Subscriptions", "subscriptions", "subscriptions", ("subscription",)))
