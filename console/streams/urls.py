"""Addresses of streams and consumer groups."""

from __future__ import annotations

from django.urls import path

from console.streams import discard_views as discards
from console.streams import ending_views as ends
from console.streams import group_views as groups
from console.streams import views as streams
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("streams", streams.browse, name="streams"),
    path("new-stream", streams.new, name="stream_new"),
    path("streams/<queue:name>", streams.show, name="stream"),
    path("streams/<queue:name>/messages", streams.messages, name="stream_messages"),
    path("streams/<queue:name>/bodies/<int:partition>/<row:position>", streams.download_body, name="stream_body"),
    path("streams/<queue:name>/append", streams.append, name="stream_append"),
    path("streams/<queue:name>/settings", streams.edit, name="stream_settings"),
    path("streams/<queue:name>/rename", ends.rename, name="stream_rename"),
    path("streams/<queue:name>/delete", ends.delete, name="stream_delete"),
    path("streams/<queue:name>/new-group", groups.new, name="group_new"),
    path("streams/<queue:name>/groups/<queue:group>", groups.show, name="group"),
    path("streams/<queue:name>/groups/<queue:group>/settings", groups.settings, name="group_settings"),
    path("streams/<queue:name>/groups/<queue:group>/pause", groups.pause, name="group_pause"),
    path("streams/<queue:name>/groups/<queue:group>/resume", groups.resume, name="group_resume"),
    path("streams/<queue:name>/groups/<queue:group>/seek", groups.seek, name="group_seek"),
    path("streams/<queue:name>/groups/<queue:group>/drop", groups.drop, name="group_drop"),
    path("discards/<row:discard_id>", discards.show, name="discard"),
    path("discards/<row:discard_id>/cancel", discards.cancel, name="discard_cancel"),
]

register(Item(Group.MONITOR, 40, "Streams", "streams", "streams", ("stream", "group", "captures", "capture")))
