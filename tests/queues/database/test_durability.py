"""Installing is refused, and the health check reports it, where PostgreSQL may lose committed data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from django.core.checks import run_checks
from django.db import connection

from metrics.health import judge as judge_health
from metrics.reading.fleet import read_fleet
from metrics.reading.snapshot import State
from queues.database.durability import judge, read_unsafe

SAFE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


@pytest.fixture
def careless_role(commits: None) -> Iterator[None]:
    """Set synchronous_commit to off for every session of the role."""
    with connection.cursor() as cursor:
        cursor.execute("set synchronous_commit = off")
    yield
    with connection.cursor() as cursor:
        cursor.execute("reset synchronous_commit")


def found() -> list[str]:
    return [one.id for one in run_checks(databases=["default"]) if one.id in ("queues.E002", "queues.W002")]


@pytest.mark.parametrize("name", SAFE)
def test_each_of_them_breaks_the_promise(name: str) -> None:
    (unsafe,) = judge(SAFE | {name: "off"})

    assert str(unsafe).startswith(f"{name} is off: ")


@pytest.mark.parametrize("value", ["on", "local", "remote_write", "remote_apply"])
def test_how_far_a_standby_is_waited_for_is_the_operators_choice(value: str) -> None:
    assert judge(SAFE | {"synchronous_commit": value}) == []


def test_the_test_database_keeps_its_commits(commits: None) -> None:
    assert read_unsafe() == []
    assert found() == []


def test_a_role_that_does_not_wait_is_refused(careless_role: None) -> None:
    assert found() == ["queues.E002"]


def test_a_trial_setup_is_warned_about(careless_role: None, settings: LazySettings) -> None:
    settings.ALLOW_UNSAFE_DATABASE = True

    assert found() == ["queues.W002"]


def test_the_health_says_so(careless_role: None) -> None:
    check = judge_health(State(read_fleet(), None, 0.0, failing=False)).checks["durability"]

    assert not check.ok
    assert check.problem.startswith("synchronous_commit is off")


def test_a_database_that_is_not_asked_for_is_not_looked_at(careless_role: None) -> None:
    assert [one for one in run_checks() if one.id == "queues.E002"] == []
