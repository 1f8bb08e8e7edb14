"""Fixtures of the data source: Spark's session with the format, and the address of the database."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.spark import register
from tests.dlq.processes import environment


@pytest.fixture
def url(dsn: str) -> str:
    """The test database, as an address."""
    return environment(dsn)["DATABASE_URL"]


@pytest.fixture
def source(spark: Any) -> Any:
    """The session, with the format in it."""
    register(spark)
    return spark
