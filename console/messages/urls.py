"""Addresses of messages, comparisons and exports."""

from __future__ import annotations

from django.urls import path

from console.messages import comparison_views, edit_views, export_views, schedule_views
from console.messages import views as messages

urlpatterns = [
    path("queues/<queue:name>/messages", messages.browse, name="queue_messages"),
    path("queues/<queue:name>/messages/<row:message_id>", messages.show, name="message"),
    path("queues/<queue:name>/messages/<row:message_id>/reveal", messages.reveal, name="message_reveal"),
    path("queues/<queue:name>/messages/<row:message_id>/edit", edit_views.edit, name="message_edit"),
    path("queues/<queue:name>/messages/<row:message_id>/run-now", schedule_views.run_now, name="message_run_now"),
    path(
        "queues/<queue:name>/messages/<row:message_id>/reschedule",
        schedule_views.reschedule,
        name="message_reschedule",
    ),
    path("queues/<queue:name>/messages/<row:message_id>/body", messages.download_body, name="message_body"),
    path("queues/<queue:name>/run-now", schedule_views.run_all_now, name="queue_run_now"),
    path("queues/<queue:name>/reschedule", schedule_views.reschedule_several, name="queue_reschedule"),
    path("queues/<queue:name>/send", messages.send, name="queue_send"),
    path("messages/<row:message_id>", messages.find, name="message_find"),
    path("dead-letters/compare", comparison_views.show, name="compare"),
    path("exports/dead-letters", export_views.dead_letters, name="export_dead_letters"),
    path("exports/messages/<queue:name>", export_views.messages, name="export_messages"),
    path("exports/audit", export_views.audit_events, name="export_audit"),
]
