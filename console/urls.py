"""Every address of the console, one nested list for each noun."""

from __future__ import annotations

from urllib.parse import unquote

from django.urls import include, path, register_converter

from console import live
from console.pages import (
    account,
    alerts,
    api_keys,
    api_reference,
    approvals,
    audit,
    bodies,
    clusters,
    comparisons,
    consumers,
    dead_letters,
    deletions,
    erasures,
    exports,
    failure_analysis,
    grants,
    groups,
    health,
    history,
    lanes,
    maintenance,
    masking,
    messages,
    metrics,
    notifications,
    old_snapshots,
    overview,
    people,
    pipeline,
    plans,
    preferences,
    purges,
    queue_settings,
    queues,
    redrives,
    renames,
    replays,
    retirements,
    saved_filters,
    sessions,
    sign_on,
    silences,
    streams,
    suggestions,
    tenants,
    trash,
)


class QueueNameConverter:
    """What `signalbox.create_queue` accepts, and the few characters more that a dead-letter queue's name may have."""

    regex = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class ClusterConverter:
    """A fingerprint, whatever is in it: a slash would end it, so it is written as %2F once more."""

    regex = r"[^/]{1,600}"

    def to_python(self, value: str) -> str:
        return unquote(value)

    def to_url(self, value: str) -> str:
        return value.replace("%", "%25").replace("/", "%2F")


class RowIdConverter:
    """A positive bigint."""

    regex = r"[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


register_converter(QueueNameConverter, "queue")
register_converter(RowIdConverter, "row")
register_converter(ClusterConverter, "cluster")

queue_urls = [
    path("pause", queues.pause, name="queue_pause"),
    path("resume", queues.resume, name="queue_resume"),
    path("messages", messages.browse, name="queue_messages"),
    path("messages/<row:message_id>", messages.show, name="message"),
    path("messages/<row:message_id>/reveal", masking.reveal, name="message_reveal"),
    path("messages/<row:message_id>/body", bodies.show, name="message_body"),
    path("purge", purges.new, name="queue_purge"),
    path("send", messages.send, name="queue_send"),
    path("lanes", lanes.browse, name="queue_lanes"),
    path("lanes/limit", lanes.limit, name="lane_limit"),
    path("consumers", consumers.of_queue, name="queue_consumers"),
    path("settings", queue_settings.edit, name="queue_settings"),
    path("rename", renames.show, name="queue_rename"),
    path("rename/free", renames.free, name="queue_free_name"),
    path("retire", retirements.show, name="queue_retire"),
    path("close", retirements.close, name="queue_close"),
    path("open", retirements.reopen, name="queue_reopen"),
    path("audit", audit.of_queue, name="queue_audit"),
    path("history", history.of_queue, name="queue_history"),
]

cluster_urls = [
    path("care", clusters.change, name="cluster_care"),
    path("state", clusters.state, name="cluster_state"),
    path("merge", clusters.join, name="cluster_merge"),
    path("split", clusters.part, name="cluster_split"),
]

redrive_urls = [
    path("new", plans.new, name="redrive_new"),
    path("plans", plans.browse, name="redrive_plans"),
    path("plans/<row:plan_id>", plans.show, name="redrive_plan"),
    path("plans/<row:plan_id>/run", plans.run, name="redrive_plan_run"),
    path("<row:redrive_id>", redrives.show, name="redrive"),
    path("<row:redrive_id>/messages", redrives.messages_of, name="redrive_messages"),
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

pipeline_urls = [
    path("failures", failure_analysis.browse, name="failure_analysis"),
    path("replay", replays.new, name="pipeline_replay"),
    path("start/<slug:kind>", pipeline.start, name="pipeline_start"),
    path("<row:run_id>", pipeline.show, name="pipeline_run"),
    path("<row:run_id>/cancel", pipeline.cancel, name="pipeline_cancel"),
]

purge_urls = [
    path("<row:purge_id>", purges.show, name="purge"),
    path("<row:purge_id>/cancel", purges.cancel, name="purge_cancel"),
]

undo_urls = [
    path("new", trash.new, name="undo_new"),
    path("<row:undo_id>", trash.show, name="undo"),
    path("<row:undo_id>/cancel", trash.cancel, name="undo_cancel"),
]

stream_urls = [
    path("messages", streams.messages, name="stream_messages"),
    path("settings", streams.edit, name="stream_settings"),
    path("new-group", groups.new, name="group_new"),
    path("groups/<queue:group>", groups.show, name="group"),
    path("groups/<queue:group>/rewind", groups.rewind, name="group_rewind"),
    path("groups/<queue:group>/drop", groups.drop, name="group_drop"),
]

urlpatterns = [
    path("", overview.show, name="overview"),
    path("new-queue", queue_settings.new, name="queue_new"),
    path("queues/<queue:name>", queues.show, name="queue"),
    path("queues/<queue:name>/", include(queue_urls)),
    path("messages/<row:message_id>", messages.find, name="message_find"),
    path("dead-letters", dead_letters.show, name="dead_letters"),
    path("dead-letters/compare", comparisons.show, name="compare"),
    path("dead-letters/clusters", clusters.browse, name="clusters"),
    path("dead-letters/clusters/<cluster:fingerprint>", clusters.show, name="cluster"),
    path("dead-letters/clusters/<cluster:fingerprint>/", include(cluster_urls)),
    path("redrives", redrives.browse, name="redrives"),
    path("redrives/", include(redrive_urls)),
    path("deletions/", include(deletion_urls)),
    path("purges/", include(purge_urls)),
    path("trash", trash.browse, name="trash"),
    path("undos/", include(undo_urls)),
    path("approvals", approvals.browse, name="approvals"),
    path("approvals/<slug:noun>/<row:job_id>/approve", approvals.approve, name="approve"),
    path("approvals/<slug:noun>/<row:job_id>/refuse", approvals.refuse, name="refuse"),
    path("saved-filters", saved_filters.browse, name="saved_filters"),
    path("saved-filters/", include(saved_filter_urls)),
    path("exports/", include(export_urls)),
    path("filter-suggestions", suggestions.show, name="filter_suggestions"),
    path("consumers", consumers.browse, name="consumers"),
    path("old-snapshots", old_snapshots.browse, name="old_snapshots"),
    path("alerts", alerts.browse, name="alerts"),
    path("alerts/silences", silences.browse, name="silences"),
    path("alerts/silences/<row:silence_id>/end", silences.end, name="silence_end"),
    path("alerts/notifications", notifications.browse, name="alert_notifications"),
    path("alerts/webhook", alerts.webhook, name="alerts_webhook"),
    path("runbooks/<slug:name>", alerts.runbook, name="runbook"),
    path("streams", streams.browse, name="streams"),
    path("new-stream", streams.new, name="stream_new"),
    path("streams/<queue:name>", streams.show, name="stream"),
    path("streams/<queue:name>/", include(stream_urls)),
    path("tenants", tenants.browse, name="tenants"),
    path("tenants/<row:tenant_id>", tenants.edit, name="tenant"),
    path("tenants/<row:tenant_id>/history", history.of_tenant_queues, name="tenant_history"),
    path("history", history.of_all, name="history"),
    path("pipeline", pipeline.browse, name="pipeline"),
    path("pipeline/", include(pipeline_urls)),
    path("audit", audit.browse, name="audit"),
    path("maintenance", maintenance.show, name="maintenance"),
    path("maintenance/plan", maintenance.plan, name="maintenance_plan"),
    path("maintenance/begin", maintenance.begin, name="maintenance_begin"),
    path("maintenance/end", maintenance.end, name="maintenance_end"),
    path("masking", masking.browse, name="masking"),
    path("masking/<row:rule_id>/remove", masking.remove, name="masking_remove"),
    path("erasures", erasures.browse, name="erasures"),
    path("erasures/new", erasures.new, name="erasure_new"),
    path("erasures/<row:erasure_id>", erasures.show, name="erasure"),
    path("erasures/<row:erasure_id>/report", erasures.download, name="erasure_report"),
    path("erasures/<row:erasure_id>/<slug:verb>", erasures.change, name="erasure_change"),
    path("people", people.browse, name="people"),
    path("people/<row:person_id>", people.change, name="person"),
    path("people/<row:person_id>/grants", grants.browse, name="grants"),
    path("grants/<row:grant_id>/take", grants.take, name="grant_take"),
    path("v1/docs", api_reference.show, name="reference"),
    path("problems/<slug:slug>", api_reference.problem, name="problem"),
    path("api-keys", api_keys.browse, name="api_keys"),
    path("api-keys/<row:key_id>/revoke", api_keys.revoke, name="api_key_revoke"),
    path("healthz", health.healthz, name="healthz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("metrics/queues", metrics.queues, name="metrics_queues"),
    path("live", live.stream, name="live"),
    path("preferences", preferences.change, name="preferences"),
    path("account", account.show, name="account"),
    path("account/password", account.password, name="account_password"),
    path("account/second-factor", account.begin, name="second_factor"),
    path("account/second-factor/confirm", account.confirm, name="second_factor_confirm"),
    path("account/second-factor/remove", account.remove, name="second_factor_remove"),
    path("account/recovery-codes", account.recovery_codes, name="recovery_codes"),
    path("account/sign-on", sign_on.again, name="sign_on_again"),
    path("login", sessions.login, name="login"),
    path("login/sign-on", sign_on.start, name="sign_on"),
    path("login/sign-on/callback", sign_on.callback, name="sign_on_callback"),
    path("login/code", sessions.code, name="login_code"),
    path("logout", sessions.logout, name="logout"),
]

handler400 = "console.pages.errors.bad_request"
handler403 = "console.pages.errors.forbidden"
handler404 = "console.pages.errors.not_found"
handler500 = "console.pages.errors.server_error"
