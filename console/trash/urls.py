"""Addresses of purges, deletions and the trash."""

from __future__ import annotations

from django.urls import path

from console.trash import lists
from console.trash import views as trash
from console.web.sidebar import Group, Item, register

urlpatterns = [
    path("queues/<queue:name>/purge", trash.new_purge, name="queue_purge"),
    path("deletions/new", trash.new_deletion, name="deletion_new"),
    path("deletions/<row:deletion_id>", trash.show_deletion, name="deletion"),
    path("deletions/<row:deletion_id>/cancel", trash.cancel_deletion, name="deletion_cancel"),
    path("purges", lists.browse_removals, name="removals"),
    path("purges/<row:purge_id>", trash.show_purge, name="purge"),
    path("purges/<row:purge_id>/cancel", trash.cancel_purge, name="purge_cancel"),
    path("trash", trash.browse, name="trash"),
    path("undos", lists.browse_undos, name="undos"),
    path("undos/new", trash.new_undo, name="undo_new"),
    path("undos/<row:undo_id>", trash.show_undo, name="undo"),
    path("undos/<row:undo_id>/cancel", trash.cancel_undo, name="undo_cancel"),
]

register(Item(Group.OPERATE, 30, "Trash", "trash", "trash"))
