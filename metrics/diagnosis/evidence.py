"""Evidence about the backlog of one queue: present numbers, the last ten minutes, and the hour before them."""

from __future__ import annotations

from dataclasses import dataclass

from metrics.diagnosis.thresholds import (
    BACKLOG_SECONDS,
    EXPLAINS_SHARE,
    FELL_SHARE,
    HELD_UP_SECONDS,
    UP_FACTOR,
    WORK_MILLISECONDS,
    WORK_SAMPLES,
)
from metrics.reading.fleet import slowest
from metrics.reading.xmin_holders import Holder
from queues.control.subscriptions import Feed
from queues.counters.queue_numbers import QueueNumbers


@dataclass(frozen=True)
class Flow:
    """Events of a queue in a period: differences of its counters, so they are exact."""

    seconds: float
    added: int
    """Messages that came: published, redriven, restored."""
    removed: int
    """Messages that left: acked, dead, purged, expired."""
    delivered: int
    acked: int
    failed: int
    """Deliveries that failed: reported by their consumer, or never finished in time."""
    died: int
    growth: int
    """The change in messages that wait, ready or in groups."""
    aged_seconds: float = 0.0
    """Growth of the age of the oldest message."""
    deferred: int = 0
    """Deliveries that their consumer put off."""

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
    def ended(self) -> int:
        """Deliveries that ended, in whatever way."""
        return self.acked + self.failed + self.deferred

    @property
    def failing(self) -> float:
        """The share of failed deliveries among those that were not deferred."""
        return self.failed / (self.failed + self.acked) if self.failed else 0.0

    @property
    def deferring(self) -> float:
        """The share of deferred deliveries among those that ended."""
        return self.deferred / self.ended if self.deferred else 0.0


@dataclass(frozen=True)
class Failures:
    """The latest failures of the last ten minutes, at most a hundred."""

    count: int = 0
    fingerprint: str = ""
    """The fingerprint that most of them have."""
    of_fingerprint: int = 0
    error_class: str | None = None
    """The error class that most of them have."""
    of_class: int = 0
    messages: int = 0
    """Number of messages that failed with that fingerprint."""


@dataclass(frozen=True)
class Work:
    """Milliseconds that acknowledged work took: the median of the last ten minutes, and of the time before."""

    acks: int = 0
    median: float | None = None
    acks_before: int = 0
    median_before: float | None = None

    @property
    def factor(self) -> float | None:
        """The ratio of the time now to the time before; None when too little is known of either."""
        if min(self.acks, self.acks_before) < WORK_SAMPLES or self.median is None or self.median_before is None:
            return None
        return self.median / max(self.median_before, 1.0)

    @property
    def slower(self) -> bool:
        factor = self.factor
        return factor is not None and factor >= UP_FACTOR and (self.median or 0.0) >= WORK_MILLISECONDS


@dataclass(frozen=True)
class Lanes:
    """Messages that wait for their group: the oldest of them, the fullest group, and dead letters in their way."""

    oldest_seconds: float = 0.0
    dead_share: float = 0.0
    """The share of the examined messages that wait behind a dead letter of their group."""
    fullest: str = ""
    waiting: int = 0
    """Messages that wait in the fullest group."""
    under_way: int = 0


@dataclass(frozen=True)
class DeadRows:
    """The table of tickets with the most dead rows, by PostgreSQL's statistics."""

    table: str
    dead: int
    live: int
    vacuumed_seconds: float | None
    """Seconds since the last vacuum; None when none is known."""


@dataclass(frozen=True)
class PriorityWait:
    """A priority with ready messages, and how long the first of them has waited."""

    priority: int
    seconds: float


@dataclass(frozen=True)
class Evidence:
    """Evidence for the diagnosis of one queue. None means unknown."""

    numbers: QueueNumbers
    minute: Flow | None = None
    ten_minutes: Flow | None = None
    before: Flow | None = None
    """From an hour ago, as far as history is kept, until ten minutes ago."""
    consumers_gone: int = 0
    """Consumers seen within the last hour, but not within the last minute."""
    last_consumer_seconds: float | None = None
    """Seconds since any consumer was last seen; None when none was within a day."""
    failures: Failures = Failures()
    paused_seconds: float | None = None
    may_be_in_flight: int | None = None
    """How many more messages the limits of queue and tenant allow in flight; None without a limit."""
    due_seconds: float | None = None
    """Seconds until the next scheduled message is due."""
    work: Work = Work()
    lanes: Lanes = Lanes()
    priorities: tuple[PriorityWait, ...] = ()
    """The highest priority first."""
    holder: Holder | None = None
    """The holder that has kept dead rows from being removed for longest, if that is too long."""
    dead_rows: DeadRows | None = None
    feeds: tuple[Feed, ...] = ()
    """The subscriptions that feed the queue."""

    @property
    def slowest_feed(self) -> Feed | None:
        """The subscription whose oldest unsent message has waited too long; None when there is no such subscription."""
        feed = slowest(self.feeds)
        return feed if feed is not None and feed.lag_seconds >= BACKLOG_SECONDS else None

    @property
    def waiting(self) -> int:
        """The messages of the backlog: ready, or waiting in groups."""
        return self.numbers.ready + self.numbers.waiting

    @property
    def claimable(self) -> int:
        """The messages that wait for a consumer only: the ready ones, and all where groups share the queue."""
        return self.waiting if self.numbers.queue.shares_groups else self.numbers.ready

    @property
    def recent(self) -> Flow | None:
        """The last ten minutes, or the last minute when history is shorter."""
        return self.ten_minutes or self.minute

    @property
    def is_held_up(self) -> bool:
        """Tell whether every consumer holds work, no delivery has ended for a minute, and no limit holds the rest."""
        flow, busy = self.recent, 0 < self.numbers.consumers <= self.numbers.leased
        free = self.may_be_in_flight != 0 and self.claimable >= EXPLAINS_SHARE * self.waiting
        rests = flow is not None and flow.seconds >= HELD_UP_SECONDS and not flow.ended
        return busy and free and rests

    @property
    def done_share(self) -> float | None:
        """Present work as a share of earlier work: 0.5 is half; None without a history of work."""
        if self.recent is None or self.before is None or not self.before.acked:
            return None
        return self.recent.acked_per_second / self.before.acked_per_second

    @property
    def does_less(self) -> bool:
        return self.done_share is not None and self.done_share <= FELL_SHARE
