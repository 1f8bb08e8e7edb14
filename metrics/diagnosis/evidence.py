"""What is known of one queue's backlog: numbers of now, of the last minutes, and of the time before them."""

from __future__ import annotations

from dataclasses import dataclass

from queues.counters import QueueNumbers


@dataclass(frozen=True)
class Flow:
    """What happened to a queue within some seconds: differences of its counters, so exact however much happened."""

    seconds: float
    added: int
    """Messages that came: published, redriven, restored."""
    removed: int
    """Messages that left: acked, dead, purged, expired."""
    delivered: int
    redelivered: int
    acked: int
    failed: int
    """Deliveries that failed: reported by their consumer, or never finished in time."""
    died: int
    growth: int
    """By how many more messages wait (ready or in lanes) than when it began."""
    aged_seconds: float = 0.0
    """By how much the age of the oldest has grown."""

    @property
    def in_per_second(self) -> float:
        return self.added / self.seconds

    @property
    def out_per_second(self) -> float:
        return self.removed / self.seconds

    @property
    def acked_per_second(self) -> float:
        return self.acked / self.seconds

    @property
    def failing(self) -> float:
        """The share of deliveries that failed, of those whose end is known."""
        return self.failed / (self.failed + self.acked) if self.failed else 0.0


@dataclass(frozen=True)
class Failures:
    """The latest failures of the last ten minutes, at most a hundred."""

    count: int = 0
    fingerprint: str = ""
    """Of the cause that most of them have."""
    of_fingerprint: int = 0
    error_class: str | None = None
    """The class that most of them have."""
    of_class: int = 0
    messages: int = 0
    """How many messages failed of that cause."""


@dataclass(frozen=True)
class Evidence:
    """All that the diagnosis of one queue may look at. None is what nobody knows."""

    numbers: QueueNumbers
    minute: Flow | None = None
    ten_minutes: Flow | None = None
    before: Flow | None = None
    """Its own history: from an hour ago, as far as it is kept, until ten minutes ago."""
    consumers_gone: int = 0
    """Consumers seen within the last hour, but not within the last minute."""
    last_consumer_seconds: float | None = None
    """How long ago any consumer was last seen; None when none was within a day."""
    failures: Failures = Failures()
    paused_seconds: float | None = None

    @property
    def waiting(self) -> int:
        """What the backlog is made of: ready, or waiting in lanes."""
        return self.numbers.ready + self.numbers.waiting
