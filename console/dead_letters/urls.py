"""Addresses of dead letters and failure groups."""

from __future__ import annotations

from django.urls import path

from console.dead_letters import views as dead_letters
from console.dead_letters.failure_groups import merge_views
from console.dead_letters.failure_groups import views as failure_groups
from console.web.sidebar import Group, Item, register

GROUP = "dead-letters/failure-groups/<fingerprint:fingerprint>"

urlpatterns = [
    path("dead-letters", dead_letters.show, name="dead_letters"),
    path("dead-letters/failure-groups", failure_groups.browse, name="failure_groups"),
    path(GROUP, failure_groups.show, name="failure_group"),
    path(f"{GROUP}/care", failure_groups.change, {"what": "care"}, name="failure_group_note"),
    path(f"{GROUP}/state", failure_groups.change, {"what": "state"}, name="failure_group_state"),
    path(f"{GROUP}/snooze", failure_groups.change, {"what": "snooze"}, name="failure_group_snooze"),
    path(f"{GROUP}/end-snooze", failure_groups.change, {"what": "end_snooze"}, name="failure_group_end_snooze"),
    path(f"{GROUP}/comment", failure_groups.change, {"what": "comment"}, name="failure_group_comment"),
    path(
        f"{GROUP}/delete-comment",
        failure_groups.change,
        {"what": "delete_comment"},
        name="failure_group_delete_comment",
    ),
    path(f"{GROUP}/merge", failure_groups.change, {"what": "merge"}, name="failure_group_merge"),
    path(f"{GROUP}/merge/preview", merge_views.choose, name="failure_group_merge_preview"),
    path(f"{GROUP}/split", failure_groups.change, {"what": "split"}, name="failure_group_split"),
]

NOUNS = ("dead_letter", "failure_groups", "failure_group", "compare", "saved_filters", "saved_filter")
register(Item(Group.MONITOR, 20, "Dead letters", "dead_letters", "dead_letters", NOUNS, dead_letters.dead))
