"""Every metric of Signalbox, declared once: name, type, labels, help.

The collector exports these and nothing else; dashboards, alert rules and docs/metrics.md are tested against this list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PREFIX = "signalbox_"
TENANT = ("tenant",)
QUEUE = (*TENANT, "queue")
STREAM = (*TENANT, "stream")
GROUP = (*STREAM, "group")


@dataclass(frozen=True, eq=False)
class Metric:
    """One metric; `name` is whole, as queries write it, but for what a histogram's series append (`series`)."""

    name: str
    type: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    help: str

    def series(self) -> dict[str, tuple[str, ...]]:
        """The names that queries write, each with its labels."""
        if self.type != "histogram":
            return {self.name: self.labels}
        parts = {"_bucket": (*self.labels, "le"), "_sum": self.labels, "_count": self.labels}
        return {self.name + part: labels for part, labels in parts.items()}


def _gauge(name: str, text: str, labels: tuple[str, ...] = QUEUE) -> Metric:
    return Metric(PREFIX + name, "gauge", labels, text)


def _counter(name: str, text: str, labels: tuple[str, ...] = QUEUE) -> Metric:
    return Metric(f"{PREFIX}{name}_total", "counter", labels, text)


def _histogram(name: str, text: str, labels: tuple[str, ...] = QUEUE) -> Metric:
    return Metric(PREFIX + name, "histogram", labels, text)


QUEUE_MESSAGES = _gauge(
    "queue_messages",
    "Messages by state: ready, scheduled, waiting in lanes, leased; dead at the dead-letter queue that holds them.",
    (*QUEUE, "state"),
)
OLDEST_VISIBLE_AGE = _gauge(
    "queue_oldest_visible_age_seconds",
    "How long the message waiting longest has been ready to be received; 0 when none is.",
)
OLDEST_LEASE_AGE = _gauge(
    "queue_oldest_lease_age_seconds",
    "How long the longest-held message is held, of the hundred whose leases end first; 0 when none is in flight.",
)
EXPIRED_LEASES = _gauge(
    "queue_expired_leases",
    "Leases that have ended and were not returned to the queue yet; counted up to 1000.",
)
MESSAGES_ADDED = _counter(
    "queue_messages_added",
    "Messages that entered the queue: published or redriven into it.",
)
MESSAGES_REMOVED = _counter(
    "queue_messages_removed",
    "Messages that left the queue: acked, dead, purged or expired. Added less removed are those still in it.",
)
QUEUE_CONSUMERS = _gauge("queue_consumers", "Consumers that received or announced themselves within 60 seconds.")

EVENTS: dict[str, Metric] = {
    "published": _counter("messages_published", "Messages sent to the queue, delayed ones included."),
    "delivered": _counter("messages_delivered", "Deliveries to consumers, first and repeated."),
    "redelivered": _counter("messages_redelivered", "Deliveries of messages that had been delivered before."),
    "aged": _counter(
        "messages_aged",
        "Deliveries ahead of a message of higher priority that waited too: aging kept them from starving.",
    ),
    "acked": _counter("messages_acked", "Messages acknowledged by their consumer."),
    "nacked": _counter("messages_nacked", "Deliveries that their consumer reported as failed."),
    "lease_expired": _counter(
        "messages_lease_expired", "Deliveries whose consumer neither finished nor extended its lease in time."
    ),
    "deduplicated": _counter("messages_deduplicated", "Sends answered with an earlier message of the same key."),
    "redriven": _counter("messages_redriven", "Dead letters that were sent again, by the queue they died in."),
    "purged": _counter("messages_purged", "Messages and dead letters deleted by an operator."),
    "expired": _counter("messages_expired", "Messages and dead letters deleted when their retention ended."),
}
"""Plain counters, by the name that `QueueNumbers.totals` gives them."""

DEAD_LETTERED = _counter(
    "dead_lettered",
    "Messages that died, by the queue they died in; reason is rejected, runtime_error or lock_expired.",
    (*QUEUE, "reason"),
)

PUBLISH_REJECTED = _counter(
    "publish_rejected",
    "Sends refused by a limit of the queue or its tenant; reason is backlog, bytes, age, rate, lane or closed.",
    (*QUEUE, "reason"),
)
TENANT_REFUSED = _counter(
    "tenant_refused",
    "What a tenant's quotas refused that is no send; reason is queues, retention or long_polls.",
    ("tenant", "reason"),
)
QUEUE_BYTES = _gauge(
    "queue_bytes",
    "What the queue's messages weigh, estimated by the mean size sent; only where max_backlog_bytes is set.",
)

WAIT = _histogram(
    "wait_seconds", "From when a message became visible to its first delivery, as of the last fold of the counters."
)
WORK = _histogram("work_seconds", "From a delivery to its acknowledgement, as of the last fold of the counters.")
FIRST_RECEIVES = _counter(
    "first_receives",
    "First deliveries, by whether the wait was within the queue's wait_target_seconds then; slo is met or missed.",
    (*QUEUE, "slo"),
)

QUEUE_INFO = _gauge(
    "queue_info",
    "Always 1; what the queue is, as labels. dead_letter_queue is where its dead letters go.",
    (*QUEUE, "mode", "is_dead_letter_queue", "dead_letter_queue", "paused", "closed"),
)
ALERT_THRESHOLD = _gauge(
    "queue_alert_threshold",
    "Above this the queue's alert fires: its settings alert_... as data; check is the name without alert_.",
    (*QUEUE, "check", "severity"),
)
SLO_TARGET_RATIO = _gauge(
    "queue_slo_target_ratio",
    "The share of first deliveries that should meet the wait target: the setting wait_target_ratio as data.",
)
WAIT_TARGET = _gauge(
    "queue_wait_target_seconds",
    "How long a message may wait to count as met: the setting wait_target_seconds as data.",
)
RETENTION = _gauge("queue_retention_seconds", "How long a message may wait before it expires.")
VISIBILITY_TIMEOUT = _gauge(
    "queue_visibility_timeout_seconds", "How long a delivered message stays with its consumer by default."
)

OLDEST_XMIN_AGE = _gauge(
    "pg_oldest_xmin_age_seconds",
    "How long the oldest holder of this kind has kept dead rows from being removed; 0 when none does.",
    ("holder_kind",),
)
OLDEST_XMIN_TRANSACTIONS = _gauge(
    "pg_oldest_xmin_age_transactions",
    "Transaction ids given out since the oldest one that holders of this kind hold; 0 when none does.",
    ("holder_kind",),
)
OLDEST_XMIN_THRESHOLD = _gauge(
    "pg_oldest_xmin_threshold_seconds",
    "From this age on a holder is shown on the overview: the setting OLD_SNAPSHOT_SECONDS as data.",
    (),
)

DEAD_TUPLE_RATIO = _gauge(
    "pg_dead_tuple_ratio",
    "The share of a table's rows that are dead and wait for vacuum, as PostgreSQL estimates.",
    ("table",),
)
NOTIFY_QUEUE_USAGE = _gauge(
    "pg_notify_queue_usage_ratio",
    "How full the server's queue of notifications is, 0 to 1; when it is full, commits that notify fail.",
    (),
)
DATABASE_BYTES = _gauge("pg_database_bytes", "What the database takes on disk.", ())
REPLICATION_LAG = _gauge(
    "pg_replication_lag_seconds",
    "How far the standby that is furthest behind lags in replaying; 0 without a standby.",
    (),
)
SHARD_EPOCH = _gauge("shard_epoch", "The server's timeline, one more after each promotion of a standby.", ())
MAINTENANCE = _gauge("maintenance", "1 while the installation is under maintenance.", ())
MAINTENANCE_OVERDUE = _gauge(
    "maintenance_overdue_seconds",
    "How long maintenance goes on beyond the time that was announced; 0 where none does, or no time was.",
    (),
)
CLOCK_AHEAD = _gauge(
    "clock_ahead_seconds",
    "How far the engine's clock is ahead of the server's. Leases and delays last longer by that time.",
    (),
)
PG_READ_ONLY = _gauge("pg_read_only", "1 while nothing can be written: a standby, or a read-only default.", ())
PUBLISHED_TABLES = _gauge(
    "published_tables", "Tables of Signalbox that a publication of logical replication covers.", ()
)
UNIDENTIFIED_TABLES = _gauge(
    "unidentified_tables",
    "Tables of Signalbox without replica identity: PostgreSQL refuses deletes once they are published.",
    (),
)

TENANT_QUEUES = _gauge("tenant_queues", "Queues of the tenant, its dead-letter queues included.", TENANT)
TENANT_MESSAGES = _gauge(
    "tenant_messages",
    "Messages of all queues of the tenant, by state; like queue_messages, a dead letter counts where it is held.",
    (*TENANT, "state"),
)
TENANT_OLDEST_VISIBLE_AGE = _gauge(
    "tenant_oldest_visible_age_seconds",
    "The oldest visible age among the tenant's queues; 0 when nothing waits.",
    TENANT,
)
TENANT_CONSUMERS = _gauge(
    "tenant_consumers", "Consumers of the tenant's queues; one that receives from two counts twice.", TENANT
)
TENANT_ADDED = _counter("tenant_messages_added", "Messages that entered any queue of the tenant.", TENANT)
TENANT_REMOVED = _counter("tenant_messages_removed", "Messages that left any queue of the tenant.", TENANT)
TENANT_DEAD_LETTERED = _counter("tenant_dead_lettered", "Messages that died in any queue of the tenant.", TENANT)
TENANT_FIRST_RECEIVES = _counter(
    "tenant_first_receives", "First deliveries in the tenant's queues, by slo: met or missed.", (*TENANT, "slo")
)

FLEET_QUEUES = _gauge("fleet_queues", "Queues of the installation, dead-letter queues included.", ())
FLEET_MESSAGES = _gauge("fleet_messages", "Messages of all queues, by state; each is counted once.", ("state",))
FLEET_OLDEST_VISIBLE_AGE = _gauge(
    "fleet_oldest_visible_age_seconds", "The oldest visible age among all queues; 0 when nothing waits.", ()
)
FLEET_CONSUMERS = _gauge("fleet_consumers", "Consumers of all queues; one that receives from two counts twice.", ())
FLEET_ADDED = _counter("fleet_messages_added", "Messages that entered any queue.", ())
FLEET_REMOVED = _counter("fleet_messages_removed", "Messages that left any queue.", ())
FLEET_DEAD_LETTERED = _counter("fleet_dead_lettered", "Messages that died in any queue.", ())
FLEET_FIRST_RECEIVES = _counter(
    "fleet_first_receives", "First deliveries in all queues, by slo: met or missed.", ("slo",)
)

TRASH_MESSAGES = _gauge("trash_messages", "Messages in the trash: what can still be put back.", ())
TRASH_SECONDS_LEFT = _gauge(
    "trash_seconds_left",
    "How long until the first of what is in the trash is deleted for good; 0 when it is empty.",
    (),
)

ARCHIVE_HORIZON_AGE = _gauge(
    "archive_horizon_age_seconds",
    "How long the horizon of the archive, for which history waits, has not moved; 0 where history waits for none.",
    (),
)
STREAM_APPENDED = _counter(
    "stream_messages_appended",
    "Positions given to messages of the stream; one that was rolled back counts too.",
    STREAM,
)
GROUP_LAG_MESSAGES = _gauge(
    "group_lag_messages",
    "What the group has not committed yet: exact, but for positions that were rolled back or are being appended.",
    GROUP,
)
GROUP_LAG_SECONDS = _gauge(
    "group_lag_seconds", "The age of the oldest message that the group has not committed; 0 when there is none.", GROUP
)
GROUP_MEMBERS = _gauge("group_members", "Members of the group whose lease has not ended.", GROUP)
GROUP_COMMITTED_OFFSET = _gauge(
    "group_committed_offset", "The positions that the group has committed, all partitions added up.", GROUP
)
GROUP_LOST_MESSAGES = _gauge(
    "group_lost_messages", "Messages that retention dropped before the group read them, ever since.", GROUP
)
GROUP_LAG_THRESHOLD = _gauge(
    "group_lag_threshold_seconds",
    "Above this the alert on stalled groups looks: the stream's setting alert_group_lag_seconds as data.",
    GROUP,
)

PUBLISH_DURATION = _histogram(
    "publish_duration_seconds", "What a send to the database took, of this process alone.", ()
)
RECEIVE_DURATION = _histogram(
    "receive_duration_seconds",
    "What one look for messages took, of this process alone; the pauses of a long poll are not counted.",
    (),
)

API_REQUEST_DURATION = _histogram(
    "api_request_duration_seconds",
    "What a request to the HTTP API took, of this process alone; waits have routes of their own.",
    ("route", "status"),
)

EXPORTER_UP = _gauge(
    "exporter_up", "1 while the numbers are fresh; 0 when the database has not answered for 30 seconds.", ()
)
EXPORTER_LAST_REFRESH = _gauge(
    "exporter_last_refresh_timestamp_seconds", "Unix time at which the numbers were last read; 0 when never.", ()
)
EXPORTER_REFRESH_DURATION = _gauge(
    "exporter_refresh_duration_seconds", "How long that reading took in the database.", ()
)
EXPORTER_GROUPS_OMITTED = _gauge(
    "exporter_groups_omitted", "Groups of streams without series because METRICS_MAX_SERIES is reached.", ()
)
EXPORTER_QUEUES_OMITTED = _gauge(
    "exporter_queues_omitted",
    "Queues without series of their own because METRICS_MAX_SERIES is reached; totals of tenants include them.",
    (),
)

QUEUE_METRICS = (
    QUEUE_MESSAGES,
    OLDEST_VISIBLE_AGE,
    OLDEST_LEASE_AGE,
    EXPIRED_LEASES,
    MESSAGES_ADDED,
    MESSAGES_REMOVED,
    QUEUE_CONSUMERS,
    *EVENTS.values(),
    DEAD_LETTERED,
    PUBLISH_REJECTED,
    QUEUE_BYTES,
    WAIT,
    WORK,
    FIRST_RECEIVES,
    QUEUE_INFO,
    ALERT_THRESHOLD,
    SLO_TARGET_RATIO,
    WAIT_TARGET,
    RETENTION,
    VISIBILITY_TIMEOUT,
)
TENANT_TOTALS = (
    TENANT_QUEUES,
    TENANT_MESSAGES,
    TENANT_OLDEST_VISIBLE_AGE,
    TENANT_CONSUMERS,
    TENANT_ADDED,
    TENANT_REMOVED,
    TENANT_DEAD_LETTERED,
    TENANT_FIRST_RECEIVES,
)
FLEET_TOTALS = (
    FLEET_QUEUES,
    FLEET_MESSAGES,
    FLEET_OLDEST_VISIBLE_AGE,
    FLEET_CONSUMERS,
    FLEET_ADDED,
    FLEET_REMOVED,
    FLEET_DEAD_LETTERED,
    FLEET_FIRST_RECEIVES,
)
TENANT_METRICS = (*TENANT_TOTALS, TENANT_REFUSED)
FLEET_METRICS = (
    *FLEET_TOTALS,
    TRASH_MESSAGES,
    TRASH_SECONDS_LEFT,
    ARCHIVE_HORIZON_AGE,
    MAINTENANCE,
    MAINTENANCE_OVERDUE,
    CLOCK_AHEAD,
)
POSTGRES_METRICS = (
    OLDEST_XMIN_AGE,
    OLDEST_XMIN_TRANSACTIONS,
    OLDEST_XMIN_THRESHOLD,
    DEAD_TUPLE_RATIO,
    NOTIFY_QUEUE_USAGE,
    DATABASE_BYTES,
    REPLICATION_LAG,
    SHARD_EPOCH,
    PG_READ_ONLY,
    PUBLISHED_TABLES,
    UNIDENTIFIED_TABLES,
)
STREAM_METRICS = (
    EXPORTER_GROUPS_OMITTED,
    STREAM_APPENDED,
    GROUP_LAG_MESSAGES,
    GROUP_LAG_SECONDS,
    GROUP_MEMBERS,
    GROUP_COMMITTED_OFFSET,
    GROUP_LOST_MESSAGES,
    GROUP_LAG_THRESHOLD,
)
PROCESS_METRICS = (PUBLISH_DURATION, RECEIVE_DURATION)
API_METRICS = (API_REQUEST_DURATION,)
EXPORTER_METRICS = (EXPORTER_UP, EXPORTER_LAST_REFRESH, EXPORTER_REFRESH_DURATION, EXPORTER_QUEUES_OMITTED)
METRICS = (
    *QUEUE_METRICS,
    *TENANT_METRICS,
    *FLEET_METRICS,
    *STREAM_METRICS,
    *POSTGRES_METRICS,
    *PROCESS_METRICS,
    *API_METRICS,
    *EXPORTER_METRICS,
)
SERIES: dict[str, tuple[str, ...]] = {name: labels for metric in METRICS for name, labels in metric.series().items()}
"""Every name that a query may write, with its labels."""
