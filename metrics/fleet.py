"""One reading of the whole installation: every queue's numbers, the signs of life of upkeep and consumers, and
who keeps PostgreSQL from removing dead rows.

Thirteen SQL queries, however many queues there are; metrics and health both derive from it, so they always agree.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connection

from metrics.engine import Engine, read_engine
from metrics.xmin_holders import Holder, read_holders
from queues import maintenance
from queues.counters import QueueNumbers, read_numbers, read_tenant_refusals
from queues.durability import Unsafe, read_database
from queues.durations import Durations, read_durations
from queues.leases import Leases, read_leases
from queues.maintenance.models import Maintenance
from queues.streams import Streams, read_streams

UPKEEP_STALE_SECONDS = 30.0  # it folds every second and moves the clock ten times as often; restarts are shorter

_SIGNS = (Path(__file__).parent / "sql" / "upkeep_signs.sql").read_text()


@dataclass(frozen=True)
class Signs:
    """When upkeep and consumers last gave a sign of life, in seconds ago; None: never."""

    clock_age_seconds: float | None
    """Since `manage.py upkeep` last moved the engine's clock; None where upkeep only ever runs from SQL."""
    last_fold_age_seconds: float
    """Since counters were last folded, which happens only when there are any."""
    unfolded: bool
    """Counters are waiting although upkeep has been silent for UPKEEP_STALE_SECONDS."""
    newest_consumer_age_seconds: float | None

    @property
    def clock_ahead_seconds(self) -> float:
        """How far the engine's clock is ahead of the server's; 0 while it is not."""
        return max(-(self.clock_age_seconds or 0.0), 0.0)


@dataclass(frozen=True)
class Fleet:
    """The installation at one moment. `read_at` is Unix time, `read_seconds` what the reading took."""

    queues: list[QueueNumbers]
    signs: Signs
    read_at: float
    read_seconds: float
    holders: Sequence[Holder] = ()
    tenant_refusals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By tenant and reason, what its quotas refused that is no send."""
    durations: Mapping[int, Durations] = field(default_factory=dict)
    leases: Mapping[int, Leases] = field(default_factory=dict)
    engine: Engine = field(default_factory=Engine)
    streams: Streams = field(default_factory=Streams)
    unsafe: Sequence[Unsafe] = ()
    read_only: bool = False
    """Nothing can be written: a standby, or a setting."""
    maintenance: Maintenance | None = None

    def durations_of(self, numbers: QueueNumbers) -> Durations:
        return self.durations.get(numbers.queue_id) or Durations()

    def leases_of(self, numbers: QueueNumbers) -> Leases:
        return self.leases.get(numbers.queue_id) or Leases()


def read_fleet() -> Fleet:
    """Read everything; raises django.db.Error when the database cannot be asked."""
    started = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(_SIGNS, {"stale_seconds": UPKEEP_STALE_SECONDS})
        signs = Signs(*cursor.fetchone())
    database = read_database()
    return Fleet(
        queues=read_numbers(),
        signs=signs,
        holders=read_holders(),
        tenant_refusals=read_tenant_refusals(),
        durations=read_durations(),
        leases=read_leases(),
        engine=read_engine(),
        streams=read_streams(),
        unsafe=database.unsafe,
        read_only=database.read_only,
        maintenance=maintenance.current(),
        read_at=time.time(),
        read_seconds=time.monotonic() - started,
    )
