"""Every metric of Signalbox, declared once: name, type, labels, help, and how its value is read.

The exporter exports these and nothing else. Tests compare dashboards, alert rules and docs/reference/metrics.md
with this list. To add a metric, add a line to the table of its subject; where no reading has its value yet, add the
value to that reading (`metrics/reading/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from django.conf import settings

from metrics.reading.api_requests import API_REQUESTS, SQS_ERRORS
from metrics.reading.api_requests import BOUNDS as API_BOUNDS
from metrics.reading.fleet import Exporter, Fleet, QueueReading, Totals
from metrics.reading.xmin_holders import KINDS, oldest
from queues.control.streams import GroupNumbers
from queues.counters.durations import BOUNDS, Spread
from queues.counters.queue_numbers import QueueNumbers
from signalbox import durations as process

PREFIX = "signalbox_"

Reading = TypeVar("Reading")

Value = float | Spread | None
"""A number, the counts of a histogram, or None when the value is unknown."""
Values = Value | dict[Any, Value]
"""A value, or a value for each tuple of the labels that follow those of the subject."""


@dataclass(frozen=True, eq=False)
class Metric(Generic[Reading]):
    """One metric. Queries use its `name`; those of a histogram append _bucket, _sum or _count."""

    name: str
    type: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    help: str
    read: Callable[[Reading], Values]
    bounds: tuple[float, ...] = BOUNDS
    """The upper bounds of a histogram's buckets, without the last one, which has none."""


def _gauge(name: str, text: str, read: Callable[[Reading], Values], *labels: str) -> Metric[Reading]:
    return Metric(PREFIX + name, "gauge", labels, text, read)


def _counter(name: str, text: str, read: Callable[[Reading], Values], *labels: str) -> Metric[Reading]:
    return Metric(f"{PREFIX}{name}_total", "counter", labels, text, read)


def _histogram(
    name: str, text: str, read: Callable[[Reading], Values], *labels: str, bounds: tuple[float, ...] = BOUNDS
) -> Metric[Reading]:
    return Metric(PREFIX + name, "histogram", labels, text, read, bounds)


def _with(subject: tuple[str, ...], metrics: Iterable[Metric[Reading]]) -> tuple[Metric[Reading], ...]:
    """Put the labels of the subject before each metric's own labels."""
    return tuple(replace(metric, labels=(*subject, *metric.labels)) for metric in metrics)


def _by(values: Mapping[str, float]) -> Values:
    return {(label,): value for label, value in values.items()}


def _by_slo(met: int, missed: int) -> Values:
    return {("met",): met, ("missed",): missed}


# A queue.


def _messages_by_state(numbers: QueueNumbers) -> Values:
    """Count messages by state; dead letters only at their dead-letter queue, or they would count twice."""
    states = ("ready", "scheduled", "waiting", "leased", *(("dead",) if numbers.is_dead_letter_queue else ()))
    return {(state,): getattr(numbers, state) for state in states}


def _queue_info(numbers: QueueNumbers) -> Values:
    is_dead_letter_queue, paused, closed = (
        str(flag).lower() for flag in (numbers.is_dead_letter_queue, numbers.paused, numbers.closed)
    )
    return {(numbers.queue.mode, is_dead_letter_queue, numbers.dead_letter_queue, paused, closed): 1}


# The severity of the alert on each threshold. A dead-letter queue needs no consumers, and nothing dies in it.
THRESHOLDS_OF_EVERY_QUEUE = {"oldest_age_seconds": "critical"}
THRESHOLDS_OF_DEAD_LETTER_QUEUES = {"dead_letters": "warning"}
THRESHOLDS_OF_OTHER_QUEUES = {
    "no_consumers_seconds": "critical",
    "dead_letters_per_minute": "warning",
    "backlog_eta_seconds": "warning",
    "lease_age_seconds": "warning",
    "redelivery_ratio": "warning",
}


def _thresholds(numbers: QueueNumbers) -> Values:
    """Read the alert_... settings of a queue, by (check, severity)."""
    own = THRESHOLDS_OF_DEAD_LETTER_QUEUES if numbers.is_dead_letter_queue else THRESHOLDS_OF_OTHER_QUEUES
    checks = THRESHOLDS_OF_EVERY_QUEUE | own
    return {(check, severity): getattr(numbers.queue, f"alert_{check}") for check, severity in checks.items()}


def _event(name: str, text: str) -> Metric[QueueReading]:
    """Make a counter of one of `QueueNumbers.totals`."""
    return _counter(f"messages_{name}", text, lambda queue: queue.numbers.totals[name])


def _setting(name: str, text: str) -> Metric[QueueReading]:
    """Make a gauge of a setting of the queue."""
    return _gauge(f"queue_{name}", text, lambda queue: getattr(queue.numbers.queue, name))


QUEUE_METRICS: tuple[Metric[QueueReading], ...] = _with(
    ("tenant", "queue"),
    (
        _gauge(
            "queue_messages",
            "Messages by state: ready, scheduled, waiting, `leased` (in flight), dead (at the dead-letter queue only).",
            lambda queue: _messages_by_state(queue.numbers),
            "state",
        ),
        _gauge(
            "queue_oldest_visible_age_seconds",
            "Time since the oldest ready message became ready; 0 when no message is ready.",
            lambda queue: queue.numbers.oldest_ready_age_seconds or 0.0,
        ),
        _gauge(
            "queue_oldest_lease_age_seconds",
            "Age of the oldest delivery, among the hundred leases that end first; 0 when no message is in flight.",
            lambda queue: queue.leases.held_seconds or 0.0,
        ),
        _gauge(
            "queue_expired_leases",
            "Leases that have ended and whose messages are not back in the queue yet; counted up to 1000.",
            lambda queue: queue.leases.expired,
        ),
        _counter(
            "queue_messages_added",
            "Messages that entered the queue: published or redriven into it.",
            lambda queue: queue.numbers.added_total,
        ),
        _counter(
            "queue_messages_removed",
            "Messages that left the queue: completed, dead, purged or expired. The queue holds added minus removed.",
            lambda queue: queue.numbers.removed_total,
        ),
        _gauge(
            "queue_consumers",
            "Consumers that received or announced themselves within 60 seconds.",
            lambda queue: queue.numbers.consumers,
        ),
        _event("published", "Messages sent to the queue, delayed ones included."),
        _event("delivered", "Deliveries to consumers, first and repeated."),
        _event("redelivered", "Deliveries of messages that had been delivered before."),
        _event(
            "aged",
            "Deliveries ahead of a message of higher priority that waited too: aging kept them from starving.",
        ),
        _event("acked", "Messages acknowledged by their consumer."),
        _event("nacked", "Deliveries that their consumer reported as failed."),
        _event("deferred", "Deliveries that their consumer put off, without a failure."),
        _event("lease_expired", "Deliveries whose consumer neither finished nor extended its lease in time."),
        _event("deduplicated", "Sends answered with an earlier message of the same key."),
        _event("redriven", "Dead letters that were sent again, by the queue they came from."),
        _event("purged", "Messages and dead letters deleted by an operator."),
        _event("expired", "Messages and dead letters deleted when their retention ended."),
        _counter(
            "dead_lettered",
            "Messages that became dead letters, by source queue; reason: rejected, runtime_error or lock_expired.",
            lambda queue: _by(queue.numbers.dead_lettered_by_reason),
            "reason",
        ),
        _counter(
            "publish_rejected",
            "Sends refused by a limit of the queue or its tenant; reason: backlog, bytes, age, rate, `lane` or closed.",
            lambda queue: _by(queue.numbers.refused),
            "reason",
        ),
        _gauge(
            "queue_bytes",
            "Bytes of the queue's messages, estimated from the mean size of sends; only with max_backlog_bytes.",
            lambda queue: queue.numbers.bytes_held,
        ),
        _histogram(
            "wait_seconds",
            "Time from when a message became visible to its first delivery, as of the last aggregation of counters.",
            lambda queue: queue.durations.waits,
        ),
        _histogram(
            "work_seconds",
            "Time from a delivery to its acknowledgement, as of the last aggregation of counters.",
            lambda queue: queue.durations.work,
        ),
        _counter(
            "first_receives",
            "First deliveries, by whether the wait was within the queue's wait_target_seconds then; slo is met or "
            "missed.",
            lambda queue: _by_slo(queue.durations.met, queue.durations.missed),
            "slo",
        ),
        _gauge(
            "queue_info",
            "Always 1; its labels describe the queue. dead_letter_queue is the queue that keeps its dead letters.",
            lambda queue: _queue_info(queue.numbers),
            *("mode", "is_dead_letter_queue", "dead_letter_queue", "paused", "closed"),
        ),
        _gauge(
            "queue_alert_threshold",
            "The alert_... settings of the queue: an alert fires above the value. check is the name without alert_.",
            lambda queue: _thresholds(queue.numbers),
            *("check", "severity"),
        ),
        _gauge(
            "queue_slo_target_ratio",
            "The setting wait_target_ratio: the share of first deliveries that should meet the wait target.",
            lambda queue: queue.numbers.queue.wait_target_ratio,
        ),
        _setting(
            "wait_target_seconds",
            "The setting wait_target_seconds: how long a message may wait to count as met.",
        ),
        _setting("retention_seconds", "How long a message may wait before it expires."),
        _setting("visibility_timeout_seconds", "How long a delivered message stays with its consumer by default."),
    ),
)

# Totals over queues: of each tenant, and of the whole installation.


def _totals(prefix: str, whose: str) -> tuple[Metric[Totals], ...]:
    def total(kind: Any, name: str, text: str) -> Metric[Totals]:
        """A metric with the name of its field of `Totals`."""
        made: Metric[Totals] = kind(f"{prefix}_{name}", text, lambda totals: getattr(totals, name))
        return made

    oldest_visible = f"The oldest visible age among the queues of {whose}; 0 when no message waits."
    return (
        total(_gauge, "queues", f"Queues of {whose}, dead-letter queues included."),
        _gauge(
            f"{prefix}_messages",
            f"Messages of all queues of {whose}, by state; a dead letter counts once, where it is held.",
            lambda totals: _by(totals.messages),
            "state",
        ),
        total(_gauge, "oldest_visible_age_seconds", oldest_visible),
        total(_gauge, "consumers", f"Consumers of the queues of {whose}; one that receives from two counts twice."),
        total(_counter, "messages_added", f"Messages that entered any queue of {whose}."),
        total(_counter, "messages_removed", f"Messages that left any queue of {whose}."),
        total(_counter, "dead_lettered", f"Messages that became dead letters in any queue of {whose}."),
        _counter(
            f"{prefix}_first_receives",
            f"First deliveries in the queues of {whose}, by slo: met or missed.",
            lambda totals: _by_slo(totals.met, totals.missed),
            "slo",
        ),
    )


TENANT_TOTALS: tuple[Metric[Totals], ...] = _with(("tenant",), _totals("tenant", "the tenant"))
FLEET_TOTALS: tuple[Metric[Totals], ...] = _totals("fleet", "the installation")

# The installation.

TENANT_REFUSALS: tuple[Metric[Fleet], ...] = (
    _counter(
        "tenant_refused",
        "Requests other than sends that a tenant's quotas refused; reason is queues, retention, long_polls or rate.",
        lambda fleet: {
            (tenant, reason): refused
            for tenant, reasons in fleet.tenant_refusals.items()
            for reason, refused in reasons.items()
        },
        *("tenant", "reason"),
    ),
)
INSTALLATION_METRICS: tuple[Metric[Fleet], ...] = (
    _gauge(
        "trash_messages",
        "Messages in the trash, which can still be restored.",
        lambda fleet: fleet.engine.trash_messages,
    ),
    _gauge(
        "trash_seconds_left",
        "Time until the first message in the trash is deleted permanently; 0 when the trash is empty.",
        lambda fleet: fleet.engine.trash_seconds_left or 0.0,
    ),
    _gauge(
        "archive_horizon_age_seconds",
        "Time since the horizon of the archive last moved; 0 where history does not wait for an archive.",
        lambda fleet: fleet.engine.archive_age_seconds or 0.0,
    ),
    _gauge(
        "maintenance",
        "1 while the installation is under maintenance.",
        lambda fleet: float(fleet.conditions.maintenance is not None),
    ),
    _gauge(
        "maintenance_overdue_seconds",
        "Time since the announced end of maintenance; 0 when maintenance is off or has no announced end.",
        lambda fleet: fleet.conditions.maintenance.overdue().total_seconds() if fleet.conditions.maintenance else 0.0,
    ),
    _gauge(
        "clock_ahead_seconds",
        "How far the engine's clock is ahead of the server's. Leases and delays last longer by that time.",
        lambda fleet: fleet.signs.clock_ahead_seconds,
    ),
)
POSTGRES_METRICS: tuple[Metric[Fleet], ...] = (
    _gauge(
        "pg_oldest_xmin_age_seconds",
        "How long the oldest holder of this kind has kept dead rows from being removed; 0 when none does.",
        lambda fleet: {(kind,): oldest(fleet.holders, kind)[1] for kind in KINDS},
        "holder_kind",
    ),
    _gauge(
        "pg_oldest_xmin_age_transactions",
        "Transaction ids given out since the oldest one that holders of this kind hold; 0 when none does.",
        lambda fleet: {(kind,): oldest(fleet.holders, kind)[0] for kind in KINDS},
        "holder_kind",
    ),
    _gauge(
        "pg_oldest_xmin_threshold_seconds",
        "The setting OLD_SNAPSHOT_SECONDS: the age from which a holder is shown on the overview.",
        lambda _: settings.OLD_SNAPSHOT_SECONDS,
    ),
    _gauge(
        "pg_dead_tuple_ratio",
        "The share of a table's rows that are dead and wait for vacuum, as PostgreSQL estimates.",
        lambda fleet: _by(fleet.engine.dead_tuple_ratios),
        "table",
    ),
    _gauge(
        "pg_notify_queue_usage_ratio",
        "How full the server's queue of notifications is, 0 to 1; when it is full, commits that notify fail.",
        lambda fleet: fleet.engine.notify_queue_usage,
    ),
    _gauge("pg_database_bytes", "Size of the database on disk.", lambda fleet: fleet.engine.database_bytes),
    _gauge(
        "pg_replication_lag_seconds",
        "How far the standby that is furthest behind lags in replaying; 0 without a standby.",
        lambda fleet: fleet.engine.replication_lag_seconds,
    ),
    _gauge(
        "shard_epoch",
        "The server's timeline, one more after each promotion of a standby.",
        lambda fleet: fleet.engine.epoch,
    ),
    _gauge(
        "pg_read_only",
        "1 while nothing can be written: a standby, or a read-only default.",
        lambda fleet: float(fleet.conditions.read_only),
    ),
    _gauge(
        "published_tables",
        "Tables of Signalbox that a publication of logical replication covers.",
        lambda fleet: fleet.engine.published_tables,
    ),
    _gauge(
        "unidentified_tables",
        "Tables of Signalbox without replica identity: PostgreSQL refuses deletes once they are published.",
        lambda fleet: fleet.engine.unidentified_tables,
    ),
)
STREAM_METRICS: tuple[Metric[Fleet], ...] = (
    _counter(
        "stream_messages_appended",
        "Positions given to messages of the stream; one that was rolled back counts too.",
        lambda fleet: {(stream.tenant.name, stream.name): appended for stream, appended in fleet.streams.appended},
        *("tenant", "stream"),
    ),
)

# A consumer group of a stream.

GROUP_METRICS: tuple[Metric[GroupNumbers], ...] = _with(
    ("tenant", "stream", "group"),
    (
        _gauge(
            "group_lag_messages",
            "Positions that the group has not committed, with those that were rolled back or are being appended.",
            lambda group: group.lag_messages,
        ),
        _gauge(
            "group_lag_seconds",
            "The age of the oldest message that the group has not committed; 0 when there is none.",
            lambda group: group.lag_seconds,
        ),
        _gauge("group_members", "Members of the group whose lease has not ended.", lambda group: group.members),
        _gauge(
            "group_committed_offset",
            "The positions that the group has committed, all partitions added up.",
            lambda group: group.committed,
        ),
        _gauge(
            "group_lost_messages",
            "Messages that retention dropped before the group read them, since the group was made.",
            lambda group: group.lost,
        ),
        _gauge(
            "group_lag_threshold_seconds",
            "The stream's setting alert_group_lag_seconds: the alert on stalled groups fires above the value.",
            lambda group: group.group.stream.alert_group_lag_seconds,
        ),
    ),
)

# This process and the exporter.

PROCESS_METRICS: tuple[Metric[None], ...] = (
    _histogram(
        "publish_duration_seconds",
        "What a send to the database took, of this process alone.",
        lambda _: Spread(*process.PUBLISH.read()),
        bounds=process.BOUNDS,
    ),
    _histogram(
        "receive_duration_seconds",
        "What one look for messages took, of this process alone; the pauses of a long poll are not counted.",
        lambda _: Spread(*process.RECEIVE.read()),
        bounds=process.BOUNDS,
    ),
)
API_METRICS: tuple[Metric[None], ...] = (
    _histogram(
        "api_request_duration_seconds",
        "Duration of a request to the HTTP API or the SQS endpoint, measured by this process; waits have routes of "
        "their own. Routes of the SQS endpoint are SQS and the name of the operation.",
        lambda _: API_REQUESTS.read(),
        *("route", "status"),
        bounds=API_BOUNDS,
    ),
    _counter(
        "sqs_errors",
        "Refused requests to the SQS endpoint, and refused entries of batches, by the error's code, of this process.",
        lambda _: SQS_ERRORS.read(),
        *("operation", "code"),
    ),
)
STATE_METRICS: tuple[Metric[Exporter], ...] = (
    _gauge(
        "exporter_up",
        "1 while the numbers are fresh; 0 when the database has not answered for 30 seconds.",
        lambda exporter: float(exporter.up),
    ),
    _gauge(
        "exporter_last_refresh_timestamp_seconds",
        "Unix time at which the numbers were last read; 0 when never.",
        lambda exporter: exporter.fleet.read_at if exporter.fleet else 0.0,
    ),
    _gauge(
        "exporter_refresh_duration_seconds",
        "How long the last reading of the numbers took.",
        lambda exporter: exporter.fleet.read_seconds if exporter.fleet else 0.0,
    ),
)
"""Metrics that are exported even when the database does not answer."""
QUEUES_OMITTED: Metric[Exporter] = _gauge(
    "exporter_queues_omitted",
    "Queues without series of their own because METRICS_MAX_SERIES is reached; totals of tenants include them.",
    lambda exporter: exporter.queues_omitted,
)
GROUPS_OMITTED: Metric[Exporter] = _gauge(
    "exporter_groups_omitted",
    "Groups of streams without series because METRICS_MAX_SERIES is reached.",
    lambda exporter: exporter.groups_omitted,
)

METRICS: tuple[Metric[Any], ...] = (
    *QUEUE_METRICS,
    *TENANT_TOTALS,
    *FLEET_TOTALS,
    *TENANT_REFUSALS,
    *INSTALLATION_METRICS,
    *POSTGRES_METRICS,
    *STREAM_METRICS,
    *GROUP_METRICS,
    *PROCESS_METRICS,
    *API_METRICS,
    *STATE_METRICS,
    QUEUES_OMITTED,
    GROUPS_OMITTED,
)
