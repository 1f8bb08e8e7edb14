"""The alert rules that the console evaluates by itself: each rule that takes a single reading.

Each has the name and meaning of the rule in dashboards/alerts/, so that a page shows both as one alert. Prometheus
alone evaluates rules that take two readings: rates and shares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.conf import settings

from metrics.engine import Engine
from metrics.wording import NO_BREAK, number, plural, span
from metrics.xmin_holders import CATALOG_SLOT, Holder
from queues.counters import QueueNumbers
from queues.leases import Leases

NEAR_EXPIRY_RATIO = 0.8
"""The share of a queue's retention after which a waiting message is about to expire."""
ARCHIVE_STALE_SECONDS = 86_400.0


@dataclass(frozen=True)
class Held:
    """One queue, and the leases of its consumers."""

    numbers: QueueNumbers
    leases: Leases


@dataclass(frozen=True)
class Installation:
    """Readings of the whole installation."""

    engine: Engine
    holders: Sequence[Holder] = ()


Subject = TypeVar("Subject")


@dataclass(frozen=True)
class OwnRule(Generic[Subject]):
    """One alert: how long its condition holds before it fires, and how long it may be gone before it is over."""

    name: str
    severity: str
    summary: str
    describe: Callable[[Subject], str | None]
    """What is wrong, with values; None while nothing is."""
    for_seconds: float = 0.0
    keep_seconds: float = 0.0
    runbook: str = ""
    """Where it is not called as the alert."""

    @property
    def runbook_url(self) -> str:
        return f"docs/runbooks/{self.runbook or self.name}.md"


def _oldest_age(numbers: QueueNumbers) -> str | None:
    return _waits_too_long(numbers) if not numbers.paused else None


def _paused(numbers: QueueNumbers) -> str | None:
    """Not what maintenance holds: that is one thing to know, and no fault of any queue."""
    return f"It is paused. {too_long}" if numbers.queue.paused and (too_long := _waits_too_long(numbers)) else None


def _waits_too_long(numbers: QueueNumbers) -> str | None:
    age, allowed = numbers.oldest_ready_age_seconds or 0.0, numbers.alert_oldest_age_seconds
    if age <= allowed:
        return None
    return f"The oldest visible message has waited {_long(age)}; alert_oldest_age_seconds allows {_long(allowed)}."


def _dead_letters(numbers: QueueNumbers) -> str | None:
    if not numbers.is_dead_letter_queue or numbers.dead <= numbers.alert_dead_letters:
        return None
    allowed = numbers.alert_dead_letters
    return (
        f"It holds {plural(numbers.dead, 'message')} that failed for good; alert_dead_letters allows {number(allowed)}."
    )


def _no_consumers(numbers: QueueNumbers) -> str | None:
    if numbers.is_dead_letter_queue or numbers.paused or not numbers.ready:
        return None
    if numbers.consumers or numbers.leased:
        return None  # one without a name is seen by what it holds
    age = numbers.oldest_ready_age_seconds or 0.0
    if age <= numbers.queue.alert_no_consumers_seconds:
        return None
    return f"{plural(numbers.ready, 'message')} ready, the oldest for {_long(age)}, and no consumer seen for a minute."


def _long(seconds: float) -> str:
    """As a mail says it, whose readers may not know the space that does not break."""
    return span(seconds).replace(NO_BREAK, " ")


def _refuses(numbers: QueueNumbers) -> str | None:
    return f"Sends are refused by these limits: {', '.join(numbers.refusing)}." if numbers.refusing else None


def _near_expiry(numbers: QueueNumbers) -> str | None:
    """The alert also for paused queues, where messages expire too."""
    age, retention = numbers.oldest_ready_age_seconds or 0.0, numbers.queue.retention_seconds
    if age <= NEAR_EXPIRY_RATIO * retention:
        return None
    return (
        f"The oldest visible message has waited {_long(age)}, more than {NEAR_EXPIRY_RATIO:.0%} of retention_seconds"
        f" ({_long(retention)}). At the end of it messages are deleted."
    )


def _some_dead_letters(numbers: QueueNumbers) -> str | None:
    """The alert up to the setting `alert_dead_letters`; above it SignalboxDeadLetters fires."""
    if not numbers.is_dead_letter_queue or not 0 < numbers.dead <= numbers.alert_dead_letters:
        return None
    return f"It holds {plural(numbers.dead, 'message')}, no more than alert_dead_letters allows."


def _ended_leases(held: Held) -> str | None:
    expired = held.leases.expired
    return f"{plural(expired, 'lease')} ended and the messages were not returned." if expired else None


def _long_lease(held: Held) -> str | None:
    age, allowed = held.leases.held_seconds or 0.0, held.numbers.queue.alert_lease_age_seconds
    if held.numbers.is_dead_letter_queue or age <= allowed:
        return None
    return f"A consumer has held a message for {_long(age)}; alert_lease_age_seconds allows {_long(allowed)}."


def _old_snapshot(of: Installation) -> str | None:
    old = [one for one in of.holders if one.kind != CATALOG_SLOT and _age(one) > settings.OLD_SNAPSHOT_SECONDS]
    if not old:
        return None
    oldest = max(old, key=_age)
    kind = oldest.kind.replace("_", " ")
    return f"A {kind} has held back the cleanup of the whole database for {_long(_age(oldest))}: see Old snapshots."


def _age(holder: Holder) -> float:
    return holder.age_seconds or 0.0


def _stale_archive(of: Installation) -> str | None:
    age = of.engine.archive_age_seconds or 0.0
    if age <= ARCHIVE_STALE_SECONDS:
        return None
    return (
        f"The archive's horizon has not moved for {_long(age)}. Until it does, history is kept and the database grows."
    )


def _published(of: Installation) -> str | None:
    tables = of.engine.published_tables
    return f"A publication covers {plural(tables, 'table')}: subscribers receive every step." if tables else None


def _unidentified(of: Installation) -> str | None:
    tables = of.engine.unidentified_tables
    if not tables:
        return None
    return f"{plural(tables, 'table')} without replica identity: once published, receives fail."


OWN_RULES: tuple[OwnRule[QueueNumbers], ...] = (
    OwnRule(
        "SignalboxNearExpiry",
        "critical",
        "Messages are about to expire unread",
        _near_expiry,
        for_seconds=60.0,
        keep_seconds=300.0,
    ),
    OwnRule(
        "SignalboxOldestAgeHigh",
        "critical",
        "Messages wait longer than their queue allows",
        _oldest_age,
        for_seconds=60.0,
        keep_seconds=120.0,
    ),
    OwnRule(
        "SignalboxNoConsumers",
        "critical",
        "Messages are ready and nobody receives them",
        _no_consumers,
        for_seconds=60.0,
        keep_seconds=60.0,
    ),
    OwnRule(
        "SignalboxDeadLetters",
        "warning",
        "A dead-letter queue holds more messages than it may",
        _dead_letters,
        keep_seconds=60.0,
    ),
    OwnRule(
        "SignalboxPublishRejected",
        "warning",
        "A queue keeps refusing what is sent to it",
        _refuses,
        for_seconds=300.0,
        keep_seconds=120.0,
    ),
    OwnRule(
        "SignalboxQueuePaused",
        "warning",
        "A queue has been paused for long while messages wait",
        _paused,
        for_seconds=3_600.0,
    ),
    OwnRule(
        "SignalboxDeadLettersNotEmpty",
        "info",
        "A dead-letter queue is not empty",
        _some_dead_letters,
        for_seconds=3_600.0,
    ),
)
LEASE_RULES: tuple[OwnRule[Held], ...] = (
    OwnRule(
        "SignalboxLeasesNotReclaimed",
        "warning",
        "Leases have ended and nobody takes the messages back",
        _ended_leases,
        for_seconds=300.0,
    ),
    OwnRule(
        "SignalboxLeaseHeldTooLong",
        "warning",
        "A consumer holds a message for very long",
        _long_lease,
        for_seconds=120.0,
        keep_seconds=300.0,
    ),
)
INSTALLATION_RULES: tuple[OwnRule[Installation], ...] = (
    OwnRule(
        "SignalboxOldSnapshot",
        "warning",
        "Something keeps PostgreSQL from removing dead rows",
        _old_snapshot,
        for_seconds=600.0,
    ),
    OwnRule(
        "SignalboxArchiveStale",
        "warning",
        "History waits for an archive that does not move",
        _stale_archive,
        for_seconds=600.0,
    ),
    OwnRule(
        "SignalboxTablesUnidentified",
        "critical",
        "Tables have no replica identity: a publication stops receives",
        _unidentified,
        for_seconds=300.0,
    ),
    OwnRule(
        "SignalboxTablesPublished",
        "info",
        "A publication covers tables of Signalbox",
        _published,
        for_seconds=600.0,
    ),
)


def _of_no_queue(_: None) -> None:
    return None


MAINTENANCE_OVERDUE: OwnRule[None] = OwnRule(
    "SignalboxMaintenanceOverdue",
    "warning",
    "Maintenance goes on for longer than was announced",
    _of_no_queue,
    for_seconds=300.0,
)
CLOCK_AHEAD: OwnRule[None] = OwnRule(
    "SignalboxClockAhead",
    "critical",
    "The engine's clock is ahead: leases and delays last too long",
    _of_no_queue,
    for_seconds=60.0,
)
SILENT_PROMETHEUS: OwnRule[None] = OwnRule(
    "SignalboxWatchdogMissing",
    "critical",
    "Prometheus is not heard of: its alerts do not arrive",
    _of_no_queue,
    runbook="SignalboxWatchdog",
)

ALL_RULES: tuple[OwnRule[Any], ...] = (
    *OWN_RULES,
    *LEASE_RULES,
    *INSTALLATION_RULES,
    MAINTENANCE_OVERDUE,
    CLOCK_AHEAD,
    SILENT_PROMETHEUS,
)


def late_maintenance(seconds: float) -> str:
    """What is said of maintenance that was to have ended so long ago."""
    return f"It was to have ended {_long(seconds)} ago. Until somebody ends it alerts about waiting keep still."


def clock_ahead(seconds: float) -> str:
    """The words of the alert about an engine's clock that is ahead."""
    return (
        f"It is {_long(seconds)} ahead of the database server's. Until it is reached, or reset by"
        " manage.py clock reset, no lease, retry or delay ends."
    )
