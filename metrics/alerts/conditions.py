"""Conditions of the alerts that Signalbox evaluates without Prometheus: those that one reading decides.

A condition is a function with the name of its rule. It returns a description of the problem with values, or None. Rules
that compare two readings (rates and shares) are evaluated by Prometheus alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from django.conf import settings

from metrics.alerts.rules import all_rules
from metrics.reading.cells import Cells
from metrics.reading.fleet import Engine, QueueReading
from metrics.reading.xmin_holders import CATALOG_SLOT, Holder
from metrics.wording import NO_BREAK, number, plural, span
from queues.control.clock import TOLERATED_SECONDS
from queues.counters.queue_numbers import QueueNumbers


@dataclass(frozen=True)
class InstallationReading:
    """Readings of the whole installation."""

    engine: Engine
    holders: Sequence[Holder] = ()
    overdue_seconds: float = 0.0
    """Time since the announced end of maintenance."""
    clock_ahead_seconds: float = 0.0
    watchdog_missing: bool = False
    cells: Cells = field(default_factory=Cells)


Reading = TypeVar("Reading", QueueReading, InstallationReading)
Condition = Callable[[Reading], str | None]

QUEUE_CONDITIONS: dict[str, Condition[QueueReading]] = {}
INSTALLATION_CONDITIONS: dict[str, Condition[InstallationReading]] = {}


def _registry(conditions: dict[str, Condition[Reading]]) -> Callable[[Condition[Reading]], Condition[Reading]]:
    """Make a decorator that adds a condition under its rule's name: `near_expiry` under SignalboxNearExpiry."""

    def register(condition: Condition[Reading]) -> Condition[Reading]:
        conditions[f"Signalbox{condition.__name__.title().replace('_', '')}"] = condition
        return condition

    return register


_of_queues, _of_installation = _registry(QUEUE_CONDITIONS), _registry(INSTALLATION_CONDITIONS)


@_of_queues
def near_expiry(reading: QueueReading) -> str | None:
    """Check paused queues too: their messages also expire."""
    ratio = all_rules()["SignalboxNearExpiry"].bound
    age, retention = reading.numbers.oldest_ready_age_seconds or 0.0, reading.numbers.queue.retention_seconds
    if age <= ratio * retention:
        return None
    return (
        f"Oldest ready message: {_span(age)}, more than {ratio:.0%} of retention_seconds ({_span(retention)}), after"
        " which messages are deleted."
    )


@_of_queues
def oldest_age_high(reading: QueueReading) -> str | None:
    return None if reading.numbers.paused else _waits_too_long(reading.numbers)


@_of_queues
def no_consumers(reading: QueueReading) -> str | None:
    numbers = reading.numbers
    if numbers.is_dead_letter_queue or numbers.paused or not numbers.ready:
        return None
    if numbers.consumers or numbers.leased:
        return None  # a consumer without a name is seen by its leases
    age = numbers.oldest_ready_age_seconds or 0.0
    if age <= numbers.queue.alert_no_consumers_seconds:
        return None
    return f"No active consumers: {plural(numbers.ready, 'message')} ready, the oldest for {_span(age)}."


@_of_queues
def dead_letters(reading: QueueReading) -> str | None:
    dead, allowed = reading.numbers.dead, reading.numbers.alert_dead_letters
    if not reading.numbers.is_dead_letter_queue or dead <= allowed:
        return None
    return f"{plural(dead, 'dead letter')} (limit {number(allowed)})."


@_of_queues
def publish_rejected(reading: QueueReading) -> str | None:
    refusing = reading.numbers.refusing
    return f"Sends are refused by these limits: {', '.join(refusing)}." if refusing else None


@_of_queues
def queue_paused(reading: QueueReading) -> str | None:
    """Check queues that a person paused; SignalboxMaintenanceOverdue covers queues that only maintenance pauses."""
    waits = _waits_too_long(reading.numbers) if reading.numbers.queue.paused else None
    return f"Paused. {waits}" if waits else None


@_of_queues
def upstream_lag(reading: QueueReading) -> str | None:
    """Check the unsent messages of subscriptions, with the limit for messages that wait in the queue itself."""
    feed, allowed = reading.slowest_feed, reading.numbers.alert_oldest_age_seconds
    if feed is None or reading.numbers.paused or feed.lag_seconds <= allowed:
        return None
    why = " The subscription is paused." if feed.paused else ""
    waiting = f"Not yet sent from {feed.source}: {plural(feed.lag, 'message')}"
    return f"{waiting}, the oldest for {_span(feed.lag_seconds)} (limit {_span(allowed)}).{why}"


@_of_queues
def dead_letters_not_empty(reading: QueueReading) -> str | None:
    """Check for dead letters up to alert_dead_letters; above it SignalboxDeadLetters fires instead."""
    if not reading.numbers.is_dead_letter_queue or not 0 < reading.numbers.dead <= reading.numbers.alert_dead_letters:
        return None
    return f"{plural(reading.numbers.dead, 'dead letter')} (limit {number(reading.numbers.alert_dead_letters)})."


@_of_queues
def leases_not_reclaimed(reading: QueueReading) -> str | None:
    expired = reading.leases.expired
    return f"{plural(expired, 'lease')} ended and the messages were not returned." if expired else None


@_of_queues
def lease_held_too_long(reading: QueueReading) -> str | None:
    age, allowed = reading.leases.held_seconds or 0.0, reading.numbers.queue.alert_lease_age_seconds
    if reading.numbers.is_dead_letter_queue or age <= allowed:
        return None
    return f"Longest delivery in flight: {_span(age)} (limit {_span(allowed)})."


@_of_installation
def old_snapshot(reading: InstallationReading) -> str | None:
    ages = [(holder.age_seconds or 0.0, holder.kind) for holder in reading.holders if holder.kind != CATALOG_SLOT]
    age, kind = max(ages, default=(0.0, ""))
    if age <= settings.OLD_SNAPSHOT_SECONDS:
        return None
    kind = kind.replace("_", " ")
    return f"A {kind} has kept dead rows in the whole database from being removed for {_span(age)}: see Old snapshots."


@_of_installation
def archive_stale(reading: InstallationReading) -> str | None:
    age = reading.engine.archive_age_seconds or 0.0
    if age <= all_rules()["SignalboxArchiveStale"].bound:
        return None
    return (
        f"The archive's horizon has not moved for {_span(age)}. Until it does, history is kept and the database grows."
    )


@_of_installation
def tables_unidentified(reading: InstallationReading) -> str | None:
    tables = reading.engine.unidentified_tables
    return f"{plural(tables, 'table')} without replica identity: once published, receives fail." if tables else None


@_of_installation
def tables_published(reading: InstallationReading) -> str | None:
    tables = reading.engine.published_tables
    return f"A publication covers {plural(tables, 'table')}: subscribers receive every step." if tables else None


@_of_installation
def maintenance_overdue(reading: InstallationReading) -> str | None:
    if not reading.overdue_seconds:
        return None
    late = _span(reading.overdue_seconds)
    return f"Its announced end was {late} ago. Until maintenance ends, no alert about waiting messages fires."


@_of_installation
def clock_ahead(reading: InstallationReading) -> str | None:
    if reading.clock_ahead_seconds <= TOLERATED_SECONDS:
        return None
    return (
        f"It is {_span(reading.clock_ahead_seconds)} ahead of the database server's. Until it is reached, or reset by"
        " manage.py clock reset, no lease, retry or delay ends."
    )


@_of_installation
def cell_silent(reading: InstallationReading) -> str | None:
    silent = reading.cells.silent
    return (
        f"{', '.join(silent)}: no answer. Messages in {'it' if len(silent) == 1 else 'them'} wait." if silent else None
    )


@_of_installation
def directory_stale(reading: InstallationReading) -> str | None:
    late = [f"{name} lacks {plural(changes, 'change')}" for name, changes in reading.cells.behind.items() if changes]
    return f"The copy of the directory in {', in '.join(late)}." if late else None


@_of_installation
def move_stuck(reading: InstallationReading) -> str | None:
    idle = reading.cells.move_idle_seconds
    if idle <= all_rules()["SignalboxMoveStuck"].bound:
        return None
    return f"No runner has taken a move further for {_span(idle)}. If it is closing, its partitions take no sends."


@_of_installation
def cells_uneven(reading: InstallationReading) -> str | None:
    peak = reading.cells.peak_over_mean or 0.0
    if peak <= all_rules()["SignalboxCellsUneven"].bound:
        return None
    return f"The busiest cell has {peak:.1f} times the mean load. The page Fleet proposes moves."


@_of_installation
def watchdog_missing(reading: InstallationReading) -> str | None:
    return "No watchdog for five minutes." if reading.watchdog_missing else None


def _waits_too_long(numbers: QueueNumbers) -> str | None:
    age, allowed = numbers.oldest_ready_age_seconds or 0.0, numbers.alert_oldest_age_seconds
    if age <= allowed:
        return None
    return f"Oldest ready message: {_span(age)} (limit {_span(allowed)})."


def _span(seconds: float) -> str:
    """Write a duration with plain spaces, since mail programs may not show no-break spaces."""
    return span(seconds).replace(NO_BREAK, " ")
