"""Every address of the console, one nested list for each noun."""

from __future__ import annotations

from django.urls import include, path, register_converter

from console import live
from console.pages import (
    audit,
    bodies,
    consumers,
    dead_letters,
    deletions,
    exports,
    health,
    lanes,
    messages,
    metrics,
    old_snapshots,
    overview,
    people,
    preferences,
    purges,
    queue_settings,
    queues,
    redrive_reviews,
    redrives,
    saved_filters,
    sessions,
    suggestions,
    tenants,
)


class QueueNameConverter:
    """What `signalbox.create_queue` accepts, and the few characters more that a dead-letter queue's name may have."""

    regex = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class RowIdConverter:
    """A positive bigint."""

    regex = r"[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


register_converter(QueueNameConverter, "queue")
register_converter(RowIdConverter, "row")

queue_urls = [
    path("pause", queues.pause, name="queue_pause"),
    path("resume", queues.resume, name="queue_resume"),
    path("messages", messages.browse, name="queue_messages"),
    path("messages/<row:message_id>", messages.show, name="message"),
    path("messages/<row:message_id>/body", bodies.show, name="message_body"),
    path("purge", purges.new, name="queue_purge"),
    path("send", messages.send, name="queue_send"),
    path("lanes", lanes.browse, name="queue_lanes"),
    path("lanes/limit", lanes.limit, name="lane_limit"),
    path("consumers", consumers.of_queue, name="queue_consumers"),
    path("settings", queue_settings.edit, name="queue_settings"),
    path("audit", audit.of_queue, name="queue_audit"),
]

redrive_urls = [
    path("new", redrive_reviews.new, name="redrive_new"),
    path("<row:redrive_id>", redrives.show, name="redrive"),
    path("<row:redrive_id>/pause", redrives.pause, name="redrive_pause"),
    path("<row:redrive_id>/resume", redrives.resume, name="redrive_resume"),
    path("<row:redrive_id>/cancel", redrives.cancel, name="redrive_cancel"),
    path("<row:redrive_id>/rate", redrives.set_rate, name="redrive_rate"),
]

deletion_urls = [
    path("new", deletions.new, name="deletion_new"),
    path("<row:deletion_id>", deletions.show, name="deletion"),
    path("<row:deletion_id>/cancel", deletions.cancel, name="deletion_cancel"),
]

saved_filter_urls = [
    path("new", saved_filters.save, name="saved_filter_new"),
    path("<row:saved_filter_id>", saved_filters.change, name="saved_filter"),
    path("<row:saved_filter_id>/delete", saved_filters.delete, name="saved_filter_delete"),
]

export_urls = [
    path("dead-letters", exports.dead_letters, name="export_dead_letters"),
    path("messages/<queue:name>", exports.messages, name="export_messages"),
    path("audit", exports.audit_events, name="export_audit"),
]

purge_urls = [
    path("<row:purge_id>", purges.show, name="purge"),
    path("<row:purge_id>/cancel", purges.cancel, name="purge_cancel"),
]

urlpatterns = [
    path("", overview.show, name="overview"),
    path("new-queue", queue_settings.new, name="queue_new"),
    path("queues/<queue:name>", queues.show, name="queue"),
    path("queues/<queue:name>/", include(queue_urls)),
    path("messages/<row:message_id>", messages.find, name="message_find"),
    path("dead-letters", dead_letters.show, name="dead_letters"),
    path("redrives", redrives.browse, name="redrives"),
    path("redrives/", include(redrive_urls)),
    path("deletions/", include(deletion_urls)),
    path("purges/", include(purge_urls)),
    path("saved-filters", saved_filters.browse, name="saved_filters"),
    path("saved-filters/", include(saved_filter_urls)),
    path("exports/", include(export_urls)),
    path("filter-suggestions", suggestions.show, name="filter_suggestions"),
    path("consumers", consumers.browse, name="consumers"),
    path("old-snapshots", old_snapshots.browse, name="old_snapshots"),
    path("tenants", tenants.browse, name="tenants"),
    path("tenants/<row:tenant_id>", tenants.edit, name="tenant"),
    path("audit", audit.browse, name="audit"),
    path("people", people.browse, name="people"),
    path("people/<row:person_id>", people.change, name="person"),
    path("healthz", health.healthz, name="healthz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("live", live.stream, name="live"),
    path("preferences", preferences.change, name="preferences"),
    path("login", sessions.login, name="login"),
    path("logout", sessions.logout, name="logout"),
]

handler400 = "console.pages.errors.bad_request"
handler403 = "console.pages.errors.forbidden"
handler404 = "console.pages.errors.not_found"
handler500 = "console.pages.errors.server_error"
