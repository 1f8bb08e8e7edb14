"""PgBouncer for these tests, and a process that is configured for it by its environment."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from signalbox import Client
from tests.proof.pooler.pgbouncer import Pooler

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def pooler() -> Iterator[Pooler]:
    with Pooler() as running:
        yield running


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the one setting."""
    monkeypatch.setenv("DATABASE_POOLER", "transaction")


@pytest.fixture
def queue(pooler: Pooler) -> str:
    """A queue that no other test has."""
    name = f"pooled-{next(_numbers)}"
    with Client(pooler.url) as client:
        client.create_queue(name, {"visibility_timeout_seconds": 600})
    return name
