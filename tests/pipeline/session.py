"""Spark's one session for all tests that want it: each is a Java of its own, and slow to start."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from pipeline.spark import sessions
from tests.pipeline.object_store import credentials
from tests.pipeline.spark_cluster import INTERPRETED

SMALL = sessions.light(
    {
        "spark.driver.memory": "512m",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",  # planning each stage again takes longer than any stage of so few rows
    }
    | INTERPRETED
)
HERE = Path(__file__).parent


class Running:
    """The session while tests of this folder run. Each process that runs them has its own: none waits for another."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._session: Any = None

    def session(self) -> Any:
        if self._session is None:
            self._open.enter_context(credentials())
            self._session = self._open.enter_context(sessions.session("local[1]", SMALL, settings.SPARK_CLASSES))
        return self._session

    def end(self) -> None:
        self._session = None
        self._open.close()


RUNNING = Running()


@pytest.fixture
def spark() -> Any:
    """The session, begun by the first test that asks."""
    return RUNNING.session()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Let the Java go as soon as this process goes on to tests of another folder."""
    if nextitem is None or HERE not in nextitem.path.parents:
        RUNNING.end()
