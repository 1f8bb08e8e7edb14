"""What tests of metrics share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metrics import snapshot
from metrics.collector import render_fleet, render_process, render_queues
from metrics.fleet import read_fleet
from tests.metrics.exposition import Exposition

PATIENCE_SECONDS = 120.0


@pytest.fixture(autouse=True)
def patient_scrapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapes and probes of this process wait for a reading however long a busy machine takes for it."""
    monkeypatch.setattr(snapshot, "snapshot", snapshot.Snapshot(wait_seconds=PATIENCE_SECONDS))
    monkeypatch.setattr("metrics.health.snapshot", snapshot.snapshot)


@pytest.fixture
def scrape(commits: None) -> Callable[[], Exposition]:
    """Reads the database now, without the cache, and gives what all pages would export."""

    def read() -> Exposition:
        fleet = read_fleet()
        queues, omitted = render_queues(fleet, up=True)
        whole = Exposition.parse(render_fleet(fleet, up=True, omitted=omitted))
        return whole.joined(Exposition.parse(queues)).joined(Exposition.parse(render_process()))

    return read
