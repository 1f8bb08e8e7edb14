"""Fixtures of the metrics tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import pytest

from metrics.exposition.pages import render_fleet, render_process, render_queues, render_settings
from metrics.reading import snapshot
from metrics.reading.fleet import read_fleet
from tests.metrics.exposition import Exposition

PATIENCE_SECONDS = 120.0


@pytest.fixture(autouse=True)
def patient_scrapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapes and probes of this process wait for a reading however long a busy machine takes for it."""
    monkeypatch.setattr(snapshot, "snapshot", snapshot.Snapshot(wait_seconds=PATIENCE_SECONDS))
    monkeypatch.setattr("metrics.health.snapshot", snapshot.snapshot)


@pytest.fixture
def scrape(commits: None) -> Callable[[], Exposition]:
    """Read the database without the cache, and return the export of all pages."""

    def read() -> Exposition:
        fleet = read_fleet()
        queues, omitted = render_queues(fleet)
        whole = Exposition.parse(render_fleet(fleet, omitted=omitted))
        pages = (queues, render_settings(fleet), render_process())
        return reduce(Exposition.joined, map(Exposition.parse, pages), whole)

    return read
