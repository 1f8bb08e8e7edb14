"""Fixtures of every race: an observer, floors moved by hand, and verbs that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.floors import Floors, UnawareFloors
from tests.races.naive import SCHEMA, NaiveVerbs

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def observer(connect: Connect) -> psycopg.Connection[Any]:
    """A session that takes no part in the race."""
    return connect()


@pytest.fixture
def make_floors(connect: Connect) -> Iterator[Callable[..., Floors]]:
    """Make a keeper that leads, or one that overlooks writers on request."""
    made: list[Floors] = []
    # The previous leader may have ended without a word; its term would go on for seconds.
    connect().execute("update signalbox.upkeep_leader set expires_at = '-infinity'")

    def _make(engine: Engine, unaware: dict[str, str] | None = None) -> Floors:
        floors = UnawareFloors(connect(), engine, unaware) if unaware else Floors(connect(), engine)
        made.append(floors)
        return floors

    yield _make
    for floors in made:
        floors.keeper.connection.execute("rollback")
        floors.keeper.resign()


@pytest.fixture
def naive(connect: Connect) -> Iterator[NaiveVerbs]:
    """Copies of verbs with a mistake; dropped when the test ends."""
    connection = connect()
    connection.execute(f"create schema {SCHEMA}")
    yield NaiveVerbs(connection)
    connection.execute(f"drop schema {SCHEMA} cascade")
