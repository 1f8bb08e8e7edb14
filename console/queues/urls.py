"""Addresses of queues, their settings, groups and consumers."""

from __future__ import annotations

from django.urls import path

from console.queues import renaming_views as renames
from console.queues import settings_views
from console.queues import views as queues
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("new-queue", settings_views.new, name="queue_new"),
    path("queues/<queue:name>", queues.show, name="queue"),
    path("queues/<queue:name>/pause", queues.pause, name="queue_pause"),
    path("queues/<queue:name>/resume", queues.resume, name="queue_resume"),
    path("queues/<queue:name>/groups", queues.groups, name="queue_groups"),
    path("queues/<queue:name>/groups/limit", queues.limit_group, name="queue_group_limit"),
    path("queues/<queue:name>/consumers", queues.consumers, name="queue_consumers"),
    path("queues/<queue:name>/settings", settings_views.edit, name="queue_settings"),
    path("queues/<queue:name>/rename", renames.show, name="queue_rename"),
    path("queues/<queue:name>/rename/free", renames.free, name="queue_free_name"),
    path("queues/<queue:name>/retire", settings_views.retire, name="queue_retire"),
    path("queues/<queue:name>/close", settings_views.set_closed, {"closed": True}, name="queue_close"),
    path("queues/<queue:name>/open", settings_views.set_closed, {"closed": False}, name="queue_reopen"),
    path("consumers", queues.browse_consumers, name="consumers"),
]

register(Item(Group.MONITOR, 50, "Consumers", "consumers", "consumers", badge=queues.consumers_seen))
