"""A prometheus_client collector over one reading of the fleet: it computes nothing and asks nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.conf import settings
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from metrics import names
from metrics.alert_thresholds import thresholds
from metrics.fleet import Fleet
from metrics.xmin_holders import KINDS, Holder, oldest
from queues.counters import QueueNumbers

# A sample of a queue: the metric, the values of its labels after tenant and queue, and the number.
Sample = tuple[names.Metric, tuple[str, ...], float]


def render(fleet: Fleet | None, *, up: bool) -> bytes:
    """The exposition in Prometheus' text format. Not `up`: nothing about queues, and how old the last reading is."""
    registry = CollectorRegistry()
    registry.register(FleetCollector(fleet, up=up))
    return generate_latest(registry)


class FleetCollector(Collector):
    """What one reading says, as metric families."""

    def __init__(self, fleet: Fleet | None, *, up: bool) -> None:
        self.fleet = fleet
        self.up = up

    def describe(self) -> list[Family]:
        """Nothing: registering must not collect."""
        return []

    def collect(self) -> Iterator[Family]:
        """The exporter's own state, then, while it is up, every queue and who holds old snapshots."""
        yield from self._exporter()
        if self.up and self.fleet is not None:
            yield from _queues(self.fleet.queues)
            yield from _tenants(self.fleet.tenant_refusals)
            yield from _postgres(self.fleet.holders)

    def _exporter(self) -> Iterator[Family]:
        values = {
            names.EXPORTER_UP: float(self.up),
            names.EXPORTER_LAST_REFRESH: self.fleet.read_at if self.fleet else 0.0,
            names.EXPORTER_REFRESH_DURATION: self.fleet.read_seconds if self.fleet else 0.0,
        }
        for metric, value in values.items():
            family = metric.family()
            family.add_metric((), value)
            yield family


def _queues(queues: list[QueueNumbers]) -> Iterator[Family]:
    families = {metric: metric.family() for metric in names.QUEUE_METRICS}
    for numbers in queues:
        for metric, labels, value in _samples(numbers):
            families[metric].add_metric((numbers.tenant, numbers.name, *labels), value)
    yield from families.values()


def _samples(numbers: QueueNumbers) -> Iterator[Sample]:
    yield names.QUEUE_MESSAGES, ("ready",), numbers.ready
    yield names.QUEUE_MESSAGES, ("scheduled",), numbers.scheduled
    yield names.QUEUE_MESSAGES, ("waiting",), numbers.waiting
    yield names.QUEUE_MESSAGES, ("leased",), numbers.leased
    if numbers.is_dead_letter_queue:  # only here: the queue a message died in would count it a second time
        yield names.QUEUE_MESSAGES, ("dead",), numbers.dead
    yield names.OLDEST_VISIBLE_AGE, (), numbers.oldest_ready_age_seconds or 0.0
    yield names.MESSAGES_ADDED, (), numbers.added_total
    yield names.MESSAGES_REMOVED, (), numbers.removed_total
    yield names.QUEUE_CONSUMERS, (), numbers.consumers
    for event, metric in names.EVENTS.items():
        yield metric, (), numbers.totals[event]
    for reason, died in numbers.dead_lettered_by_reason.items():
        yield names.DEAD_LETTERED, (reason,), died
    for reason, refused in numbers.refused.items():
        yield names.PUBLISH_REJECTED, (reason,), refused
    if numbers.bytes_held is not None:
        yield names.QUEUE_BYTES, (), numbers.bytes_held
    yield from _configuration(numbers)


def _configuration(numbers: QueueNumbers) -> Iterator[Sample]:
    yield names.QUEUE_INFO, _info(numbers), 1
    for check, severity, value in thresholds(numbers):
        yield names.ALERT_THRESHOLD, (check, severity), value
    yield names.RETENTION, (), numbers.queue.retention_seconds
    yield names.VISIBILITY_TIMEOUT, (), numbers.queue.visibility_timeout_seconds


def _tenants(refusals: Mapping[str, Mapping[str, int]]) -> Iterator[Family]:
    family = names.TENANT_REFUSED.family()
    for tenant, reasons in refusals.items():
        for reason, refused in reasons.items():
            family.add_metric((tenant, reason), refused)
    yield family


def _postgres(holders: Sequence[Holder]) -> Iterator[Family]:
    families = {metric: metric.family() for metric in names.POSTGRES_METRICS}
    for kind in KINDS:
        transactions, seconds = oldest(holders, kind)
        families[names.OLDEST_XMIN_TRANSACTIONS].add_metric((kind,), transactions)
        if seconds is not None:  # unknown: no number is better than a wrong one
            families[names.OLDEST_XMIN_AGE].add_metric((kind,), seconds)
    families[names.OLDEST_XMIN_THRESHOLD].add_metric((), settings.OLD_SNAPSHOT_SECONDS)
    yield from families.values()


def _info(numbers: QueueNumbers) -> tuple[str, ...]:
    """The labels of queue_info, in their order. With no dead-letter queue named, the engine makes `<name>-dlq`."""
    unnamed = numbers.name if numbers.is_dead_letter_queue else f"{numbers.name}-dlq"
    return (
        numbers.queue.mode,
        _word(numbers.is_dead_letter_queue),
        numbers.queue.dead_letter_queue or unnamed,
        _word(numbers.paused),
        _word(numbers.closed),
    )


def _word(flag: bool) -> str:
    return "true" if flag else "false"
