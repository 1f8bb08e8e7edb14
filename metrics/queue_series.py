"""What one queue's numbers are as series; it computes nothing and asks nothing."""

from __future__ import annotations

from collections.abc import Iterator

from metrics import names
from metrics.alert_thresholds import thresholds
from metrics.names import Metric
from metrics.text import histogram, labels, sample
from queues.counters import QueueNumbers
from queues.durations import BUCKETS, Durations
from queues.leases import Leases

SERIES_OF_A_HISTOGRAM = BUCKETS + 2

# A sample of a queue: the metric, its labels after tenant and queue as text, and the number.
Sample = tuple[Metric, str, float]


def lines(numbers: QueueNumbers, durations: Durations, leases: Leases) -> tuple[list[tuple[Metric, str]], int]:
    """Every line of a queue by metric, and how many series they are."""
    inside = labels(names.QUEUE, (numbers.tenant, numbers.name))
    found = [
        (metric, sample(metric, inside + more, value)) for metric, more, value in _samples(numbers, durations, leases)
    ]
    count = len(found) + 2 * SERIES_OF_A_HISTOGRAM
    found.append((names.WAIT, histogram(names.WAIT, inside, durations.waits)))
    found.append((names.WORK, histogram(names.WORK, inside, durations.work)))
    return found, count


def _samples(numbers: QueueNumbers, durations: Durations, leases: Leases) -> Iterator[Sample]:
    yield names.QUEUE_MESSAGES, ',state="ready"', numbers.ready
    yield names.QUEUE_MESSAGES, ',state="scheduled"', numbers.scheduled
    yield names.QUEUE_MESSAGES, ',state="waiting"', numbers.waiting
    yield names.QUEUE_MESSAGES, ',state="leased"', numbers.leased
    if numbers.is_dead_letter_queue:  # only here: the queue a message died in would count it a second time
        yield names.QUEUE_MESSAGES, ',state="dead"', numbers.dead
    yield names.OLDEST_VISIBLE_AGE, "", numbers.oldest_ready_age_seconds or 0.0
    yield names.OLDEST_LEASE_AGE, "", leases.held_seconds or 0.0
    yield names.EXPIRED_LEASES, "", leases.expired
    yield names.MESSAGES_ADDED, "", numbers.added_total
    yield names.MESSAGES_REMOVED, "", numbers.removed_total
    yield names.QUEUE_CONSUMERS, "", numbers.consumers
    for event, metric in names.EVENTS.items():
        yield metric, "", numbers.totals[event]
    for reason, died in numbers.dead_lettered_by_reason.items():
        yield names.DEAD_LETTERED, f',reason="{reason}"', died
    for reason, refused in numbers.refused.items():
        yield names.PUBLISH_REJECTED, f',reason="{reason}"', refused
    if numbers.bytes_held is not None:
        yield names.QUEUE_BYTES, "", numbers.bytes_held
    yield names.FIRST_RECEIVES, ',slo="met"', durations.met
    yield names.FIRST_RECEIVES, ',slo="missed"', durations.missed
    yield from _configuration(numbers)


def _configuration(numbers: QueueNumbers) -> Iterator[Sample]:
    yield names.QUEUE_INFO, "," + labels(names.QUEUE_INFO.labels[2:], _info(numbers)), 1
    for check, severity, value in thresholds(numbers):
        yield names.ALERT_THRESHOLD, f',check="{check}",severity="{severity}"', value
    yield names.SLO_TARGET_RATIO, "", numbers.queue.wait_target_ratio
    yield names.WAIT_TARGET, "", numbers.queue.wait_target_seconds
    yield names.RETENTION, "", numbers.queue.retention_seconds
    yield names.VISIBILITY_TIMEOUT, "", numbers.queue.visibility_timeout_seconds


def _info(numbers: QueueNumbers) -> tuple[str, ...]:
    """The labels of queue_info, in their order."""
    return (
        numbers.queue.mode,
        _word(numbers.is_dead_letter_queue),
        numbers.dead_letter_queue,
        _word(numbers.paused),
        _word(numbers.closed),
    )


def _word(flag: bool) -> str:
    return "true" if flag else "false"
