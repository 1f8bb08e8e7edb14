"""What tests of metrics share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metrics.collector import render
from metrics.fleet import read_fleet
from tests.metrics.exposition import Exposition


@pytest.fixture
def scrape(commits: None) -> Callable[[], Exposition]:
    """Reads the database now, without the cache, and gives what would be exported."""
    return lambda: Exposition.parse(render(read_fleet(), up=True))
