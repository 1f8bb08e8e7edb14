"""Is the installation able to do its work? For load balancers, uptime monitors and people; docs/metrics.md says more.

A pure judgement of the snapshot, so a probe costs the database nothing. It is no liveness probe: what it reports is
not cured by restarting the console.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metrics.engine import Engine
from metrics.fleet import UPKEEP_STALE_SECONDS, Fleet, Signs
from metrics.snapshot import State, snapshot
from queues.clock import TOLERATED_SECONDS
from queues.counters import QueueNumbers

UNIDENTIFIED = (
    "a publication covers tables that have no replica identity, so deletes from them fail, and every receive fails:"
    " run `select signalbox.identify_tables()`"
)
READ_ONLY = "the database is read-only: nothing is sent, received or changed until it takes writes again"
CLOCK_AHEAD = (
    "the engine's clock is ahead of the server's: leases, retries and delays last too long; see manage.py clock show"
)
# A consumer counts as present for this long after it was last seen, so a message may rightly wait as long.
CONSUMER_SECONDS = 60.0


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: is it well, the numbers, and in words what is wrong."""

    ok: bool
    numbers: dict[str, float | None]
    problem: str = ""

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
        """The report for programs; without numbers for requests that may not read metrics."""
        checks = {name: check.as_dict(with_numbers=with_numbers) for name, check in self.checks.items()}
        return {"ok": self.ok, "checks": checks}


def report() -> Report:
    """The health of the installation, at most five seconds old. Says nothing that would help an intruder."""
    return judge(snapshot.current())


def judge(state: State) -> Report:
    """What a state of the fleet means. Without fresh numbers only the database is judged."""
    checks = {"database": _database(state)}
    if state.fleet is not None and checks["database"].ok:
        checks["writable"] = Check(not state.fleet.read_only, {}, READ_ONLY if state.fleet.read_only else "")
        checks["upkeep"] = _upkeep(state.fleet.signs)
        checks["clock"] = _clock(state.fleet.signs)
        checks["workers"] = _workers(state.fleet)
        checks["durability"] = Check(not state.fleet.unsafe, {}, "; ".join(map(str, state.fleet.unsafe)))
        checks["replication"] = _replication(state.fleet.engine)
    return Report(checks)


def _database(state: State) -> Check:
    ok = state.fresh and not state.failing
    numbers = {"numbers_age_seconds": round(state.age_seconds, 1) if state.fleet else None}
    why = state.cause or "the database does not answer"
    return Check(ok, numbers, "" if ok else f"{why}; the log of this process says more")


def _clock(signs: Signs) -> Check:
    ahead = signs.clock_ahead_seconds
    ok = ahead <= TOLERATED_SECONDS
    return Check(ok, {"ahead_seconds": _rounded(ahead)}, "" if ok else CLOCK_AHEAD)


def _upkeep(signs: Signs) -> Check:
    """Fresh when either sign is. An installation that runs upkeep from SQL alone may be silent when all is folded.

    A clock that is ahead is no sign: it stays ahead when no upkeep moves it.
    """
    signs_of_life = (
        signs.last_fold_age_seconds,
        signs.clock_age_seconds if signs.clock_ahead_seconds <= TOLERATED_SECONDS else None,
    )
    ages = [age for age in signs_of_life if age is not None]
    only_from_sql = signs.clock_age_seconds is None
    ok = min(ages) <= UPKEEP_STALE_SECONDS or (only_from_sql and not signs.unfolded)
    numbers = {
        "clock_age_seconds": _rounded(signs.clock_age_seconds),
        "last_fold_age_seconds": _rounded(signs.last_fold_age_seconds),
    }
    return Check(ok, numbers, "" if ok else "no process runs upkeep, or none can write: start manage.py upkeep")


def _workers(fleet: Fleet) -> Check:
    """Fails only when nobody works at all while messages wait; one queue without consumers is an alert's business."""
    waiting = [numbers for numbers in fleet.queues if _waits_too_long(numbers)]
    ok = not waiting or any(_is_worked_on(numbers) for numbers in fleet.queues)
    numbers = {
        "newest_consumer_age_seconds": _rounded(fleet.signs.newest_consumer_age_seconds),
        "waiting_messages": sum(numbers.ready for numbers in waiting),
    }
    return Check(ok, numbers, "" if ok else "messages wait and no consumer has been seen for a minute")


def _replication(engine: Engine) -> Check:
    """A publication is harmless as long as each of our tables has a replica identity."""
    ok = not (engine.published_tables and engine.unidentified_tables)
    numbers: dict[str, float | None] = {
        "published_tables": engine.published_tables,
        "unidentified_tables": engine.unidentified_tables,
    }
    return Check(ok, numbers, "" if ok else UNIDENTIFIED)


def _waits_too_long(numbers: QueueNumbers) -> bool:
    expects_consumers = not numbers.paused and not numbers.is_dead_letter_queue
    return expects_consumers and (numbers.oldest_ready_age_seconds or 0.0) > CONSUMER_SECONDS


def _is_worked_on(numbers: QueueNumbers) -> bool:
    """Consumers without a name are seen by what they hold."""
    return numbers.consumers > 0 or numbers.leased > 0


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(max(seconds, 0.0), 1)
