"""Health of the installation, for load balancers, uptime monitors and people (docs/reference/metrics.md).

It is computed from the snapshot, so a probe does not query the database. Do not use it as a liveness probe: a restart
of the console repairs none of these problems.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from metrics.reading.fleet import UPKEEP_STALE_SECONDS, Engine, Fleet, Signs
from metrics.reading.snapshot import State, snapshot
from queues.control.clock import TOLERATED_SECONDS
from queues.counters.queue_numbers import QueueNumbers

UNIDENTIFIED = (
    "a publication covers tables that have no replica identity, so deletes from them fail, and every receive fails:"
    " run `select signalbox.identify_tables()`"
)
READ_ONLY = "the database is read-only: nothing is sent, received or changed until it takes writes again"
CLOCK_AHEAD = (
    "the engine's clock is ahead of the server's: leases, retries and delays last too long; see manage.py clock show"
)
# A consumer counts as present for this long after it was last seen, so a message may wait as long without a problem.
CONSUMER_SECONDS = 60.0


@dataclass(frozen=True)
class Check:
    """One check: its problem in words, empty when there is none, and its numbers."""

    problem: str
    numbers: dict[str, float | None] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.problem

    def as_dict(self, *, with_numbers: bool = True) -> dict[str, Any]:
        numbers = self.numbers if with_numbers else {}
        return {"ok": self.ok, **numbers, **({"problem": self.problem} if self.problem else {})}


@dataclass(frozen=True)
class Report:
    """All checks by name; `ok` when every one is."""

    checks: dict[str, Check]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks.values())

    def as_dict(self, *, with_numbers: bool = True) -> dict[str, Any]:
        """Return the report for programs; without numbers for requests that may not read metrics."""
        checks = {name: check.as_dict(with_numbers=with_numbers) for name, check in self.checks.items()}
        return {"ok": self.ok, "checks": checks}


def report() -> Report:
    """Judge the health of the installation, by numbers at most five seconds old. The report contains no secret."""
    return judge(snapshot.current())


def judge(state: State) -> Report:
    """Judge a state of the fleet. Without fresh numbers only the database is judged."""
    checks = {"database": _database(state)}
    if state.fleet is not None and checks["database"].ok:
        conditions = state.fleet.conditions
        ahead = state.fleet.signs.clock_ahead_seconds
        checks["writable"] = Check(READ_ONLY if conditions.read_only else "")
        checks["upkeep"] = _upkeep(state.fleet.signs)
        checks["clock"] = Check(CLOCK_AHEAD if ahead > TOLERATED_SECONDS else "", {"ahead_seconds": _rounded(ahead)})
        checks["workers"] = _workers(state.fleet)
        checks["durability"] = Check("; ".join(map(str, conditions.unsafe)))
        checks["replication"] = _replication(state.fleet.engine)
    return Report(checks)


def _database(state: State) -> Check:
    ok = state.fresh and not state.failing
    numbers = {"numbers_age_seconds": round(state.age_seconds, 1) if state.fleet else None}
    why = state.cause or "the database does not answer"
    return Check("" if ok else f"{why}; the log of this process says more", numbers)


def _upkeep(signs: Signs) -> Check:
    """Judge upkeep by two signs of life; one fresh sign is enough. Upkeep from SQL may rest when nothing is pending.

    A clock that is ahead is no sign: it stays ahead when no upkeep moves it.
    """
    signs_of_life = (
        signs.last_aggregation_age_seconds,
        signs.clock_age_seconds if signs.clock_ahead_seconds <= TOLERATED_SECONDS else None,
    )
    ages = [age for age in signs_of_life if age is not None]
    only_from_sql = signs.clock_age_seconds is None
    ok = min(ages) <= UPKEEP_STALE_SECONDS or (only_from_sql and not signs.pending)
    numbers = {
        "clock_age_seconds": _rounded(signs.clock_age_seconds),
        "last_aggregation_age_seconds": _rounded(signs.last_aggregation_age_seconds),
    }
    return Check("" if ok else "no process runs upkeep, or none can write: start manage.py upkeep", numbers)


def _workers(fleet: Fleet) -> Check:
    """Judge consumers: a problem only when none works in any queue while messages wait."""
    waiting = [numbers for numbers in fleet.queues if _waits_too_long(numbers)]
    # Consumers without a name are seen by what they hold.
    ok = not waiting or any(numbers.consumers or numbers.leased for numbers in fleet.queues)
    numbers = {
        "newest_consumer_age_seconds": _rounded(fleet.signs.newest_consumer_age_seconds),
        "waiting_messages": sum(numbers.ready for numbers in waiting),
    }
    return Check("" if ok else "messages wait and no consumer has been seen for a minute", numbers)


def _replication(engine: Engine) -> Check:
    """Judge publications: harmless while each table of Signalbox has a replica identity."""
    published, unidentified = engine.published_tables, engine.unidentified_tables
    numbers: dict[str, float | None] = {"published_tables": published, "unidentified_tables": unidentified}
    return Check(UNIDENTIFIED if published and unidentified else "", numbers)


def _waits_too_long(numbers: QueueNumbers) -> bool:
    expects_consumers = not numbers.paused and not numbers.is_dead_letter_queue
    return expects_consumers and (numbers.oldest_ready_age_seconds or 0.0) > CONSUMER_SECONDS


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(max(seconds, 0.0), 1)
