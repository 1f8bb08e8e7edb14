"""The causes of a backlog. Each is one function that makes a suspect from the evidence, independently of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metrics.diagnosis.causes.arrivals import producer_burst, scheduled
from metrics.diagnosis.causes.consumers import consumer_outage, deferral, fewer_consumers, slow_consumers
from metrics.diagnosis.causes.failures import downstream_throttling, poison_data
from metrics.diagnosis.causes.holds import closed, in_flight_limit, paused
from metrics.diagnosis.causes.lanes import hot_key, lanes_blocked, priority_starvation
from metrics.diagnosis.causes.storage import autovacuum_behind, old_snapshot
from metrics.diagnosis.causes.upstream import upstream_lag
from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.suspects import Suspect

CAUSES: Sequence[Callable[[Evidence], Suspect]] = (
    paused,
    consumer_outage,
    lanes_blocked,
    in_flight_limit,
    downstream_throttling,
    poison_data,
    slow_consumers,
    fewer_consumers,
    deferral,
    producer_burst,
    hot_key,
    priority_starvation,
    old_snapshot,
    autovacuum_behind,
    upstream_lag,
    closed,
    scheduled,
)
"""The causes in the order in which a diagnosis names those that it finds."""
