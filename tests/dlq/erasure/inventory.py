"""Every column that could keep what a message carried, and what an erasure does about it.

A column that is long enough for a payload, a header or an error and is not listed here fails a test: a new
column is listed here with the effect of an erasure on it, such as `ERASED`.
"""

from __future__ import annotations

from collections.abc import Mapping

_BODY = ("payload", "attributes", "body_sha256")

ERASED: Mapping[str, tuple[str, ...]] = {
    "message": _BODY,
    "message_kept": _BODY,
    "message_state": ("state",),
    "dead_letter": (*_BODY, "error", "details", "state"),
    "trash": ("letter", "body_sha256"),
    "rewritten": ("payload",),
    "failure": ("error", "details"),
    "settled": ("results",),
    "body_pointer": ("sha256",),
    "large_body": ("sha256",),
    "stream_body_pointer": ("sha256",),
    "stream_message": ("payload", "attributes"),
    "staged_message": _BODY,
    "held_copy": _BODY,
    "failure_cluster": ("error",),
    "cluster_delta": ("error",),
    "pipeline_template": ("error",),
    "pipeline_finding": ("value",),
    "erasure": ("value",),
}
"""They get the marker, or nothing."""

PASSING: Mapping[str, tuple[str, ...]] = {
    "capture": ("backfill_after", "backfill_skipped"),  # until the backfill ends
    "dedup": ("request_hash", "deduplication_id"),  # its window: a day at most
    "stream_dedup": ("request_hash", "deduplication_id"),  # its window: a day at most
    "dedup_in_flight": ("request_hash", "deduplication_id"),  # until its message ends
    "idempotent_request": ("content", "headers", "request_hash"),  # a day
    "celery_part": ("key", "part"),  # until the result of their chord expires
    "celery_result": ("key", "value"),  # result_expires of the application: a day, if it does not say
    "mail": ("body",),  # a minute
    "pipeline_request": ("arguments",),  # until a worker takes it, a day at most
    "staged_write": ("payloads", "attributes", "keys", "deduplication_ids", "trace_ids"),  # until its batch is written
}
"""They go by themselves, soon; the report says so."""

IDS: Mapping[str, tuple[str, ...]] = dict.fromkeys(
    ("message", "message_kept", "dead_letter", "staged_message"), ("group_id", "deduplication_id", "trace_id")
) | {
    **dict.fromkeys(("ready", "scheduled", "waiting", "lease", "counter_delta"), ("lane",)),
    **dict.fromkeys(("lane_slot", "lane_hint", "lane_limit", "lane_floor", "lane_stat"), ("lane",)),
    "fleet_released": ("lane",),
    "stream_key": ("key",),
    "stream_message": ("key", "trace_id"),
    "held_copy": ("group_id", "trace_id"),
}
"""They are chosen by senders, and stay: order and uniqueness hang on them. The report says so."""

CAUSES: Mapping[str, tuple[str, ...]] = dict.fromkeys(
    ("dead_letter", "failure", "failure_cluster", "cluster_delta", "pipeline_template", "staged_message"),
    ("reason", "error_class", "fingerprint", "frame", "template"),
) | {
    "redriven": ("fingerprint", "actor"),
    "failure_cluster_bucket": ("fingerprint",),
    "failure_cluster_queue": ("fingerprint",),
    "pipeline_comparison": ("cause",),
    "pipeline_finding": ("cause", "path"),
}
"""What a failure was, without what it was about: classes, hashes, functions."""

PEOPLE: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("redrive", "deletion", "purge", "undo", "discard", "erasure"), ("reason", "decision_reason")),
    "audit_event": ("reason", "details"),
    "plan": ("filter_text", "options", "reason"),
    "fleet_redrive": ("filter_text", "reason"),
    "saved_filter": ("text",),
    "queue_subscription": ("filter",),
    "capture": ("filter",),
    "failure_group_note": ("note", "runbook_url", "fingerprint"),
    "failure_group_comment": ("text", "fingerprint"),
    "failure_group_member": ("fingerprint", "head"),
    "alert_silence": ("comment",),
    "queue": ("paused_reason",),
    "consumer_group": ("filter",),
    "maintenance": ("reason", "started_by"),
}
"""What people wrote: it is not searched, and the report says so. Filters and patches are among it."""

OURS: Mapping[str, tuple[str, ...]] = {
    "dead_letter": ("redrive_history", "source_queue", "consumer"),
    "redrive": (
        "filter_text", "source_queues", "options", "skipped_why", "step_began", "canary", "canaries", "slow_memory",
        "note", "stopped_because", "error",
    ),
    "deletion": ("filter_text", "source_queues", "error"),
    "purge": ("states", "error"),
    "undo": ("error",),
    "discard": ("settings", "error"),
    "erasure": (
        "became", "cursor", "error", "note", "places", "queue_ids", "queue_names", "remarks", "states",
    ),
    "erasure_find": ("place", "became"),
    "erasure_body": ("sha256",),
    "plan": ("impact", "sample_ids"),
    "fleet_redrive": ("plans", "left_out"),
    "staging": ("kinds",),
    "staged_message": ("kind", "queue", "tenant", "outcome"),
    "trash": ("state",),
    "settled": ("consumer",),
    "failure": ("consumer",),
    "deferral": ("consumer",),
    "capture": ("columns", "key", "signature", "slot"),
    "lease": ("consumer",),
    "consumer": ("consumer", "details"),
    "consumer_group": ("name",),
    "group_member": ("member",),
    "inbox": ("handler",),
    "group_partition": ("member",),
    "stream": ("name",),
    "stream_segment": ("table_name",),
    "binding": ("exchange", "kind", "routing_key", "pattern"),
    "mailbox": ("name",),
    "beat_schedule": ("application", "sender", "entries"),
    "counter_event": ("name", "from_state", "to_state"),
    "logged_warning": ("kind",),
    "refusal": ("reason",),
    "tenant_refusal": ("reason",),
    "setting_definition": ("name", "kind", "default_value", "choices"),
    "sql_script": ("name", "checksum"),
    "write_ledger": ("writer", "target"),
    "audit_event": ("hash", "previous_hash", "database_role", "application_name"),
    "audit_head": ("hash",),
    "audit_anchor": ("export", "hash", "export_sha256"),
    "queue_alias": ("name", "last_used"),
    "former_queue": ("name",),
    "fleet_cell": ("name", "url", "region"),
    "fleet_directory": ("cell", "home"),
    "fleet_move": ("queue", "partitions", "from_cell", "to_cell", "state", "problem", "started_by"),
    "fleet_placement": ("queue", "cell", "from_cell", "state"),
    "fleet_queue": ("queue",),
    "fleet_released": ("queue",),
    "secret": ("key",),
    "cluster_home": ("part",),
    "alert_channel": ("name", "shown", "sealed", "severities", "last_error"),
    "alert": ("labels", "description", "summary", "runbook_url"),
    "alert_notification": ("news", "last_error", "target"),
    "api_key": ("scopes", "secret_hash", "sqs_secret", "last_used_with"),
    "sqs_queue": ("attributes", "tags"),
    "pipeline_run": ("url", "parts", "error", "outcome"),
    "pipeline_file": ("path",),
    "pipeline_server": ("ended",),
    "pipeline_template": ("days", "queues", "fingerprints"),
    "pipeline_erasure": ("note",),
    "pipeline_discarded": ("url", "path"),
}  # fmt: skip
"""Names, states, settings and counts, which are of no person."""

KNOWN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "erased": ERASED,
    "passing": PASSING,
    "ids": IDS,
    "causes": CAUSES,
    "people": PEOPLE,
    "ours": OURS,
}


def fate(table: str, column: str) -> str:
    """Return the list that has a column; empty when no list has it."""
    return next((name for name, listed in KNOWN.items() if column in listed.get(table, ())), "")
