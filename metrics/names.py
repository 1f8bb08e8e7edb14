"""Every metric of Signalbox, declared once: name, type, labels, help.

The collector exports these and nothing else; dashboards, alert rules and docs/metrics.md are tested against this list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

PREFIX = "signalbox_"
QUEUE = ("tenant", "queue")


@dataclass(frozen=True)
class Metric:
    """One metric; `name` is whole, as queries write it."""

    name: str
    type: Literal["gauge", "counter"]
    labels: tuple[str, ...]
    help: str

    def family(self) -> GaugeMetricFamily | CounterMetricFamily:
        """An empty family to add samples to."""
        family = GaugeMetricFamily if self.type == "gauge" else CounterMetricFamily
        return family(self.name, self.help, labels=self.labels)


def _gauge(name: str, text: str, labels: tuple[str, ...] = QUEUE) -> Metric:
    return Metric(PREFIX + name, "gauge", labels, text)


def _counter(name: str, text: str, labels: tuple[str, ...] = QUEUE) -> Metric:
    return Metric(f"{PREFIX}{name}_total", "counter", labels, text)


QUEUE_MESSAGES = _gauge(
    "queue_messages",
    "Messages by state: ready, scheduled, waiting in lanes, leased; dead at the dead-letter queue that holds them.",
    (*QUEUE, "state"),
)
OLDEST_VISIBLE_AGE = _gauge(
    "queue_oldest_visible_age_seconds",
    "How long the message waiting longest has been ready to be received; 0 when none is.",
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

EXPORTER_UP = _gauge(
    "exporter_up", "1 while the numbers are fresh; 0 when the database has not answered for 30 seconds.", ()
)
EXPORTER_LAST_REFRESH = _gauge(
    "exporter_last_refresh_timestamp_seconds", "Unix time at which the numbers were last read; 0 when never.", ()
)
EXPORTER_REFRESH_DURATION = _gauge(
    "exporter_refresh_duration_seconds", "How long that reading took in the database.", ()
)

QUEUE_METRICS = (
    QUEUE_MESSAGES,
    OLDEST_VISIBLE_AGE,
    MESSAGES_ADDED,
    MESSAGES_REMOVED,
    QUEUE_CONSUMERS,
    *EVENTS.values(),
    DEAD_LETTERED,
    PUBLISH_REJECTED,
    QUEUE_BYTES,
    QUEUE_INFO,
    ALERT_THRESHOLD,
    RETENTION,
    VISIBILITY_TIMEOUT,
)
EXPORTER_METRICS = (EXPORTER_UP, EXPORTER_LAST_REFRESH, EXPORTER_REFRESH_DURATION)
POSTGRES_METRICS = (OLDEST_XMIN_AGE, OLDEST_XMIN_TRANSACTIONS, OLDEST_XMIN_THRESHOLD)
TENANT_METRICS = (TENANT_REFUSED,)
METRICS = (*QUEUE_METRICS, *TENANT_METRICS, *POSTGRES_METRICS, *EXPORTER_METRICS)
