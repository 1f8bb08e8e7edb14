"""The history pages: a range in the address, charts of it, and nothing that grows with messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.console.browsers import Browser
from tests.engine import Engine


def test_every_range_is_one_link_away_and_in_the_address(viewer: Browser, engine: Engine) -> None:
    page = viewer.see(f"/queues/{engine.queue}/history", range="24h")

    assert [one.text for one in page.all("a", aria_current="true")] == ["24h"]
    assert page.link("14d") == "?range=14d"
    assert "The last 24 hours" in page.text


def test_a_stretch_is_given_by_its_ends(viewer: Browser, engine: Engine) -> None:
    start = datetime.now(UTC) - timedelta(hours=5)
    typed = f"{start:%Y-%m-%dT%H:%M}"

    page = viewer.see(
        f"/queues/{engine.queue}/history", **{"from": typed, "to": f"{start + timedelta(hours=1):%Y-%m-%dT%H:%M}"}
    )

    assert f"{start:%Y-%m-%d %H:%M} to" in page.text
    assert page.one("input", name="from").attributes["value"] == typed
    assert not page.all("a", aria_current="true")


def test_a_beginning_that_nothing_is_known_of_is_said(viewer: Browser, engine: Engine) -> None:
    engine.send()
    engine.value("select signalbox.record_history()")

    assert "Nothing is known from before" in viewer.see(f"/queues/{engine.queue}/history", range="15m").text


def test_what_cannot_be_shown_says_why(viewer: Browser, engine: Engine) -> None:
    path = f"/queues/{engine.queue}/history"

    assert "There is no range called <b>" in viewer.see(path, range="<b>").text
    assert "such as 2026-01-31T14:30" in viewer.see(path, **{"from": "yesterday"}).text
    assert "From has to be before to" in viewer.see(path, **{"from": "2999-01-01T00:00"}).text
    assert "two weeks back" in viewer.see(path, **{"from": "2020-01-01T00:00"}).text


def test_each_page_is_read_in_as_many_queries(viewer: Browser, engine: Engine) -> None:
    engine.send("x")
    engine.value("select signalbox.record_history()")
    paths = {f"/queues/{engine.queue}/history": 16, "/history": 16, "/tenants/1/history": 16}
    for path, most in paths.items():
        for shown in ("15m", "14d"):
            viewer.see(path, range=shown)
            with CaptureQueriesContext(connection) as queries:
                viewer.see(path, range=shown)
            assert len(queries) <= most, [query["sql"][:80] for query in queries]
