"""What the console finds out by itself: the alerts that follow from one look at the counters.

They are called as their likes in dashboards/alerts/ and mean the same, so that a page shows them as one. What takes two
looks, a rate or a share, is left to Prometheus.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metrics.wording import NO_BREAK, number, plural, span
from queues.counters import QueueNumbers


@dataclass(frozen=True)
class OwnRule:
    """One alert: how long its condition holds before it fires, and how long it may be gone before it is over."""

    name: str
    severity: str
    summary: str
    describe: Callable[[QueueNumbers], str | None]
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


OWN_RULES = (
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
)


def _of_no_queue(_: QueueNumbers) -> None:
    return None


MAINTENANCE_OVERDUE = OwnRule(
    "SignalboxMaintenanceOverdue",
    "warning",
    "Maintenance goes on for longer than was announced",
    _of_no_queue,
    for_seconds=300.0,
)
CLOCK_AHEAD = OwnRule(
    "SignalboxClockAhead",
    "critical",
    "The engine's clock is ahead: leases and delays last too long",
    _of_no_queue,
    for_seconds=60.0,
)
SILENT_PROMETHEUS = OwnRule(
    "SignalboxWatchdogMissing",
    "critical",
    "Prometheus is not heard of: its alerts do not arrive",
    _of_no_queue,
    runbook="SignalboxWatchdog",
)


def late_maintenance(seconds: float) -> str:
    """What is said of maintenance that was to have ended so long ago."""
    return f"It was to have ended {_long(seconds)} ago. Until somebody ends it alerts about waiting keep still."


def clock_ahead(seconds: float) -> str:
    """What is said of an engine's clock that is so far ahead."""
    return (
        f"It is {_long(seconds)} ahead of the database server's. Until it is reached, or reset by"
        " manage.py clock reset, no lease, retry or delay ends."
    )
