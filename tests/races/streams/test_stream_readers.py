"""Invariant 10: readers of a stream never skip a message that commits, whatever the order in which transactions end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.streams import Log, make_log
from tests.tiers import examples

Connect = Callable[..., psycopg.Connection[Any]]

APPENDERS = 3
GROUPS = ("a", "b")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "commit", "rollback", "read a", "read b", "savepoint", "end lease of a"]),
        st.integers(0, APPENDERS - 1),
    ),
    min_size=5,
    max_size=40,
)


@pytest.fixture
def sessions(connect: Connect) -> list[psycopg.Connection[Any]]:
    return [connect(autocommit=False) for _ in range(APPENDERS)] + [connect()]


@pytest.mark.timeout(300)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS, partitions=st.integers(1, 3))
def test_two_groups_read_all_that_commits_once(
    sessions: list[psycopg.Connection[Any]], steps: list[tuple[str, int]], partitions: int
) -> None:
    *appenders, reader = sessions
    history = History(make_log(reader, partitions=partitions), appenders)
    for number, (step, who) in enumerate(steps):
        history.take(step, who, number)
    history.end()

    for group in GROUPS:
        assert sorted(history.seen[group]) == sorted(history.committed)
        assert history.log.consume("m", group) == []
        assert history.log.numbers(group)[1:] == (0, 0)


class History:
    """Actions of appenders, and reads of two groups."""

    def __init__(self, log: Log, appenders: list[psycopg.Connection[Any]]) -> None:
        self.log = log
        self.appenders = [log.on(one) for one in appenders]
        self.open: list[list[int]] = [[] for _ in appenders]
        self.committed: list[int] = []
        self.seen: dict[str, list[int]] = {group: [] for group in GROUPS}
        for group in GROUPS:
            log.group(group)

    def take(self, step: str, who: int, number: int) -> None:
        """One step of the history."""
        if step.startswith("read"):
            self.seen[step[-1]] += self.log.consume("m", step[-1])
        elif step.startswith("end lease"):
            self.log.end_lease("m", "a")
            self.seen["a"] += self.log.consume("heir", "a")
        else:
            getattr(self, step)(who, number)

    def append(self, who: int, number: int) -> None:
        self.appenders[who].append(number)
        self.open[who].append(number)

    def savepoint(self, who: int, number: int) -> None:
        """Append and roll back to a savepoint, in a transaction that continues."""
        self.appenders[who].connection.execute("savepoint s")
        self.appenders[who].append(number)
        self.appenders[who].connection.execute("rollback to savepoint s")

    def commit(self, who: int, _: int) -> None:
        self.appenders[who].connection.commit()
        self.committed += self.open[who]
        self.open[who] = []

    def rollback(self, who: int, _: int) -> None:
        self.appenders[who].connection.rollback()
        self.open[who] = []

    def end(self) -> None:
        """Commit everything, and let both groups read to the end; the second read passes rolled-back positions."""
        for who in range(len(self.appenders)):
            self.commit(who, 0)
        self.log.end_lease("heir", "a")
        for group in (*GROUPS, *GROUPS):
            self.seen[group] += self.log.consume("m", group)
