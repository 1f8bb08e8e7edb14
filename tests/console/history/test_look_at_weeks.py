"""Weeks and months on the history pages: days of the archive's rollups, where the database keeps two weeks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from metrics.alerts.models import Alert
from pipeline.models import Rollup, Run, Sent
from tests.console.browsers import Browser
from tests.engine import Engine

TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
COUNTS = {
    "acked": 900,
    "purged": 1,
    "expired": 2,
    "delivered": 1000,
    "retried": 90,
    "dead_lettered": 7,
    "waits": 900,
    "wait_p50_ms": 20,
    "wait_p95_ms": 400,
    "wait_p99_ms": 61_000,
    "works": 900,
    "work_p50_ms": 5,
    "work_p95_ms": 6,
    "work_p99_ms": 7,
}


@pytest.fixture
def days(commits: None, engine: Engine) -> Iterator[Engine]:
    """A queue of which the last forty days were rolled up; it was busy in the last twenty."""
    run = Run.objects.create(
        token="t", url="/nowhere", low=0, high=1, parts=[], state=Run.State.COMMITTED, started_by="tests"
    )
    for scope, first in ((engine.queue_id, 20), (0, 40)):
        for day in range(first):
            Rollup.objects.create(scope=scope, seconds=86_400, bucket_at=TODAY - timedelta(days=day), **COUNTS)
    Sent.objects.create(scope=engine.queue_id, bucket_at=TODAY - timedelta(days=1, hours=-3), run=run, messages=1234)
    yield engine
    Run.objects.all().delete()
    Rollup.objects.all().delete()


@pytest.mark.parametrize(("shown", "words"), [("30d", "30 days"), ("90d", "90 days"), ("1y", "The last year")])
def test_weeks_and_months_are_drawn_from_rollups(viewer: Browser, days: Engine, shown: str, words: str) -> None:
    page = viewer.see(f"/queues/{days.queue}/history", range=shown)

    assert words in page.text
    assert len(page.all("figure")) == 4
    assert "1,234" in page.html
    assert "ranks within ±1.3%" in page.text
    assert ("the highest day of each week" in page.text) == (shown == "1y")
    assert ("No data before" in page.text) == (shown != "30d")


def test_a_day_without_a_row_was_quiet_where_rollups_were_made(viewer: Browser, days: Engine) -> None:
    page = viewer.see(f"/queues/{days.queue}/history", range="30d")

    assert "completed 900 now, 0 to 900" in page.html


def test_a_beginning_of_long_ago_is_drawn_by_days(viewer: Browser, days: Engine) -> None:
    start = TODAY - timedelta(days=35)

    page = viewer.see(f"/queues/{days.queue}/history", **{"from": f"{start:%Y-%m-%dT%H:%M}"})

    assert f"{start:%Y-%m-%d} 00:00 to" in page.text
    assert "in each day" in page.text


def test_without_an_archive_the_page_says_how_to_get_one(viewer: Browser, engine: Engine) -> None:
    page = viewer.see(f"/queues/{engine.queue}/history", range="90d")

    assert "manage.py pipeline rollup" in page.text
    assert not page.all("figure")


def test_long_ranges_cost_as_many_queries_as_short_ones(viewer: Browser, days: Engine) -> None:
    Alert.objects.all().delete()  # where one of an earlier test fires, pages ask whether it is silenced
    for path in (f"/queues/{days.queue}/history", "/history", "/tenants/1/history"):
        viewer.see(path, range="90d")
        with CaptureQueriesContext(connection) as queries:
            viewer.see(path, range="90d")
        assert len(queries) <= 21, [query["sql"][:80] for query in queries]
