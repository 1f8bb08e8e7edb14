"""What tests of metrics share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metrics import snapshot
from metrics.collector import render
from metrics.fleet import read_fleet
from tests.metrics.exposition import Exposition

PATIENCE_SECONDS = 120.0


@pytest.fixture(autouse=True)
def patient_scrapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapes and probes of this process wait for a reading however long a busy machine takes for it."""
    monkeypatch.setattr(snapshot.snapshot, "_wait_seconds", PATIENCE_SECONDS)


@pytest.fixture
def scrape(commits: None) -> Callable[[], Exposition]:
    """Reads the database now, without the cache, and gives what would be exported."""
    return lambda: Exposition.parse(render(read_fleet(), up=True))
