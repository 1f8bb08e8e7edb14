"""One reading of the whole installation: every queue's numbers, the signs of life of upkeep and consumers, and
who keeps PostgreSQL from removing dead rows.

Thirteen SQL queries, however many queues there are; metrics and health both derive from it, so they always agree.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from metrics.reading.cells import Cells, read_cells
from metrics.reading.xmin_holders import Holder, read_holders
from queues.control.conditions import Conditions, read_conditions
from queues.control.streams import Streams, read_streams
from queues.control.subscriptions import Feed, feeds_by_target
from queues.counters.durations import Durations, read_durations
from queues.counters.leases import Leases, read_leases
from queues.counters.queue_numbers import QueueNumbers, read_numbers, read_tenant_refusals
from queues.database.query import named_row, query_text

UPKEEP_STALE_SECONDS = 30.0  # it aggregates every second and moves the clock ten times as often; restarts are shorter

TABLES = ("ready", "scheduled", "waiting", "lease", "dead_letter", "queue_stat")
"""The busiest tables: rows of the others are seldom updated or deleted, and partitions are emptied as a whole."""

_SIGNS, _HEALTH = query_text("health/upkeep_signs"), query_text("health/engine_health")


@dataclass(frozen=True)
class Signs:
    """Seconds since the last signs of life of upkeep and consumers; None when there never was one."""

    clock_age_seconds: float | None
    """Seconds since `manage.py upkeep` moved the engine's clock; None where upkeep runs only from SQL."""
    last_aggregation_age_seconds: float
    """Seconds since the last aggregation, which needs counter deltas."""
    pending: bool
    """True when deltas wait for aggregation although upkeep has been silent for UPKEEP_STALE_SECONDS."""
    newest_consumer_age_seconds: float | None

    @property
    def clock_ahead_seconds(self) -> float:
        """The lead of the engine's clock over the server's; 0 while it has none."""
        return max(-(self.clock_age_seconds or 0.0), 0.0)


@dataclass(frozen=True)
class Engine:
    """The health of PostgreSQL as far as it affects queues, and numbers of trash and archive. Reads no messages."""

    notify_queue_usage: float = 0.0
    """How full the queue of notifications is, 0 to 1."""
    database_bytes: int = 0
    replication_lag_seconds: float | None = None
    """Lag of the standby furthest behind; 0 without a standby, None where this role may not see them."""
    epoch: int | None = None
    """The server's timeline: one more with each promotion of a standby; None on a standby."""
    dead_tuple_ratios: Mapping[str, float] = field(default_factory=dict)
    trash_messages: int = 0
    trash_seconds_left: float | None = None
    """The seconds until the first message in the trash is permanently deleted; None when the trash is empty."""
    archive_age_seconds: float | None = None
    """Seconds since the archive's horizon moved; None where history does not wait for an archive."""
    published_tables: int = 0
    """Tables of Signalbox that a publication of logical replication covers."""
    unidentified_tables: int = 0
    """Tables of Signalbox without replica identity; PostgreSQL refuses deletes from them once published."""


@dataclass(frozen=True)
class QueueReading:
    """Readings of one queue: its numbers, its leases, and the times that messages wait and work takes."""

    numbers: QueueNumbers
    leases: Leases = field(default_factory=Leases)
    durations: Durations = field(default_factory=Durations)
    feeds: Sequence[Feed] = ()
    """The subscriptions that feed it."""

    @property
    def slowest_feed(self) -> Feed | None:
        """The subscription with the oldest unsent message; None when no subscription is behind."""
        return slowest(self.feeds)


def slowest(feeds: Sequence[Feed]) -> Feed | None:
    """Return the subscription with the oldest unsent message; None when no subscription is behind."""
    behind = [feed for feed in feeds if feed.lag]
    return max(behind, key=lambda feed: feed.lag_seconds, default=None)


@dataclass(frozen=True)
class Fleet:
    """The installation at one moment. `read_at` is Unix time, `read_seconds` what the reading took."""

    queues: list[QueueNumbers]
    signs: Signs
    read_at: float
    read_seconds: float
    holders: Sequence[Holder] = ()
    tenant_refusals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Requests other than sends that quotas refused, by tenant and reason."""
    durations: Mapping[int, Durations] = field(default_factory=dict)
    leases: Mapping[int, Leases] = field(default_factory=dict)
    engine: Engine = field(default_factory=Engine)
    streams: Streams = field(default_factory=Streams)
    conditions: Conditions = field(default_factory=Conditions)
    feeds: Mapping[int, Sequence[Feed]] = field(default_factory=dict)
    """The subscriptions that feed each queue."""
    cells: Cells = field(default_factory=Cells)

    def durations_of(self, numbers: QueueNumbers) -> Durations:
        return self.durations.get(numbers.queue_id) or Durations()

    def reading_of(self, numbers: QueueNumbers) -> QueueReading:
        leases = self.leases.get(numbers.queue_id) or Leases()
        return QueueReading(numbers, leases, self.durations_of(numbers), self.feeds.get(numbers.queue_id, ()))

    def totals(self) -> tuple[Totals, dict[str, Totals]]:
        """Add up the totals of the installation, and of each tenant by name."""
        whole, tenants = Totals(), dict[str, Totals]()
        for numbers in self.queues:
            for totals in (whole, tenants.setdefault(numbers.tenant, Totals())):
                totals.add(numbers, self.durations_of(numbers))
        return whole, tenants


@dataclass
class Totals:
    """Sums over all queues, with or without series of their own. A dead letter counts in its dead-letter queue."""

    queues: int = 0
    messages: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("ready", "scheduled", "waiting", "leased", "dead"), 0)
    )
    oldest_visible_age_seconds: float = 0.0
    consumers: int = 0
    messages_added: int = 0
    messages_removed: int = 0
    dead_lettered: int = 0
    met: int = 0
    missed: int = 0

    def add(self, numbers: QueueNumbers, durations: Durations) -> None:
        self.queues += 1
        for state in ("ready", "scheduled", "waiting", "leased"):
            self.messages[state] += getattr(numbers, state)
        self.messages["dead"] += numbers.dead if numbers.is_dead_letter_queue else 0
        self.oldest_visible_age_seconds = max(self.oldest_visible_age_seconds, numbers.oldest_ready_age_seconds or 0.0)
        self.consumers += numbers.consumers
        self.messages_added += numbers.added_total
        self.messages_removed += numbers.removed_total
        self.dead_lettered += numbers.totals["dead_lettered"]
        self.met += durations.met
        self.missed += durations.missed


@dataclass(frozen=True)
class Exporter:
    """The state of the exporter: its last reading, whether that is fresh, and what it left out."""

    fleet: Fleet | None
    up: bool
    queues_omitted: int = 0
    groups_omitted: int = 0


def read_fleet() -> Fleet:
    """Read the whole installation; raises django.db.Error when the database does not answer."""
    started = time.monotonic()
    signs = Signs(**named_row(_SIGNS, {"stale_seconds": UPKEEP_STALE_SECONDS}))
    queues = read_numbers()
    return Fleet(
        queues=queues,
        signs=signs,
        holders=read_holders(),
        tenant_refusals=read_tenant_refusals(),
        durations=read_durations(),
        leases=read_leases(),
        engine=read_engine(),
        streams=read_streams(),
        conditions=read_conditions(),
        feeds=feeds_by_target(),
        cells=read_cells(queues),
        read_at=time.time(),
        read_seconds=time.monotonic() - started,
    )


def read_engine() -> Engine:
    """Read PostgreSQL's health and the trash with one query, whose cost does not depend on the number of messages."""
    row = named_row(_HEALTH, {"tables": list(TABLES)})
    ratios = row.pop("dead_tuple_ratios")
    return Engine(dead_tuple_ratios=json.loads(ratios) if isinstance(ratios, str) else ratios, **row)
