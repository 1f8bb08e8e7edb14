"""The metrics of a queue: its numbers, and its settings, which have a page of their own because they seldom change."""

from __future__ import annotations

from dataclasses import replace

from metrics.names.metric import Metric, Values, by, by_slo, counter, gauge, histogram, with_labels
from metrics.reading.fleet import QueueReading
from queues.counters.queue_numbers import QueueNumbers


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
    return counter(f"messages_{name}", text, lambda queue: queue.numbers.totals[name])


def _rare_event(name: str, text: str) -> Metric[QueueReading]:
    """Make a counter of an event that most queues never have."""
    return replace(_event(name, text), is_rare=lambda: True)


def _setting(name: str, text: str) -> Metric[QueueReading]:
    """Make a gauge of a setting of the queue."""
    return gauge(f"queue_{name}", text, lambda queue: getattr(queue.numbers.queue, name))


QUEUE_METRICS: tuple[Metric[QueueReading], ...] = with_labels(
    ("tenant", "queue"),
    (
        replace(
            gauge(
                "queue_messages",
                "Messages by state: ready, scheduled, waiting, `leased` (in flight), dead (at the dead-letter queue "
                "only).",
                lambda queue: _messages_by_state(queue.numbers),
                "state",
            ),
            is_rare=lambda state: state in ("scheduled", "waiting"),
        ),
        gauge(
            "queue_oldest_visible_age_seconds",
            "Time since the oldest ready message became ready; 0 when no message is ready.",
            lambda queue: queue.numbers.oldest_ready_age_seconds or 0.0,
        ),
        gauge(
            "queue_upstream_lag_seconds",
            "Age of the oldest message that a subscription has not yet sent to the queue; only where one feeds it.",
            lambda queue: (
                max((feed.lag_seconds for feed in queue.feeds if feed.lag), default=0.0) if queue.feeds else None
            ),
        ),
        gauge(
            "queue_upstream_lag_messages",
            "Messages that subscriptions have not yet sent to the queue; only where one feeds it.",
            lambda queue: sum(feed.lag for feed in queue.feeds) if queue.feeds else None,
        ),
        gauge(
            "queue_oldest_lease_age_seconds",
            "Age of the oldest delivery, among the hundred leases that end first; 0 when no message is in flight.",
            lambda queue: queue.leases.held_seconds or 0.0,
        ),
        replace(
            gauge(
                "queue_expired_leases",
                "Leases that have ended and whose messages are not back in the queue yet; counted up to 1000.",
                lambda queue: queue.leases.expired,
            ),
            is_rare=lambda: True,
        ),
        counter(
            "queue_messages_added",
            "Messages that entered the queue: published or redriven into it.",
            lambda queue: queue.numbers.added_total,
        ),
        counter(
            "queue_messages_removed",
            "Messages that left the queue: completed, dead, purged or expired. The queue holds added minus removed.",
            lambda queue: queue.numbers.removed_total,
        ),
        gauge(
            "queue_consumers",
            "Consumers that received or announced themselves within 60 seconds.",
            lambda queue: queue.numbers.consumers,
        ),
        _event("published", "Messages sent to the queue, delayed ones included."),
        _event("delivered", "Deliveries to consumers, first and repeated."),
        _event("redelivered", "Deliveries of messages that had been delivered before."),
        _rare_event(
            "aged",
            "Deliveries ahead of a message of higher priority that waited too: aging kept them from starving.",
        ),
        _event("acked", "Messages acknowledged by their consumer."),
        _event("nacked", "Deliveries that their consumer reported as failed."),
        _rare_event("deferred", "Deliveries that their consumer put off, without a failure."),
        _rare_event("lease_expired", "Deliveries whose consumer neither finished nor extended its lease in time."),
        _rare_event("deduplicated", "Sends answered with an earlier message of the same key."),
        _rare_event("redriven", "Dead letters that were sent again, by the queue they came from."),
        _rare_event("purged", "Messages and dead letters deleted by an operator."),
        _rare_event("expired", "Messages and dead letters deleted when their retention ended."),
        counter(
            "dead_lettered",
            "Messages that became dead letters, by source queue; reason: rejected, runtime_error or lock_expired.",
            lambda queue: by(queue.numbers.dead_lettered_by_reason),
            "reason",
        ),
        counter(
            "publish_rejected",
            "Sends refused by a limit of the queue or its tenant; reason: backlog, bytes, age, rate, `lane` or closed.",
            lambda queue: by(queue.numbers.refused),
            "reason",
        ),
        gauge(
            "queue_bytes",
            "Bytes of the queue's messages, estimated from the mean size of sends; only with max_backlog_bytes.",
            lambda queue: queue.numbers.bytes_held,
        ),
        histogram(
            "wait_seconds",
            "Time from when a message became visible to its first delivery, as of the last aggregation of counters.",
            lambda queue: queue.durations.waits,
        ),
        histogram(
            "work_seconds",
            "Time from a delivery to its acknowledgement, as of the last aggregation of counters.",
            lambda queue: queue.durations.work,
        ),
        counter(
            "first_receives",
            "First deliveries, by whether the wait was within the queue's wait_target_seconds then; slo is met or "
            "missed.",
            lambda queue: by_slo(queue.durations.met, queue.durations.missed),
            "slo",
        ),
    ),
)
SETTING_METRICS: tuple[Metric[QueueReading], ...] = with_labels(
    ("tenant", "queue"),
    (
        gauge(
            "queue_info",
            "Always 1; its labels describe the queue. dead_letter_queue is the queue that keeps its dead letters.",
            lambda queue: _queue_info(queue.numbers),
            *("mode", "is_dead_letter_queue", "dead_letter_queue", "paused", "closed"),
        ),
        gauge(
            "queue_alert_threshold",
            "The alert_... settings of the queue: an alert fires above the value. check is the name without alert_.",
            lambda queue: _thresholds(queue.numbers),
            *("check", "severity"),
        ),
        gauge(
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
