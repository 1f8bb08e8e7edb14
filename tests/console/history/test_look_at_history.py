"""The history pages: a range in the address, charts of it, and nothing that grows with messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.charts import ranges, time_axis
from dlq.jobs.models import Redrive
from metrics.alerts.models import Alert
from tests.console.browsers import Browser, Page
from tests.engine import Engine

MOST_BYTES = 160_000


@pytest.fixture
def two_weeks(engine: Engine) -> Iterator[Engine]:
    """A queue with something in every ten minutes of two weeks."""
    bucket = "date_bin('10 minutes', now(), '2000-01-01') - n * interval '10 minutes'"
    engine.rows(
        f"insert into signalbox.history_record select 600, {bucket}, 600, -1 from generate_series(1, 2017) n"
        " on conflict do nothing returning 1"
    )
    engine.rows(
        "insert into signalbox.queue_history_ten_minutes (queue_id, bucket_at, seconds, ready, scheduled, waiting,"
        " leased, dead, oldest_ready_age_seconds, added, removed, published, delivered, redelivered, acked, nacked,"
        f" lease_expired, dead_lettered, waits, work) select %s, {bucket}, 600, 123456 + n, 12345 + n, 0,"
        " 12345 + n, 12345 + n, 12345 + n, 123456, 123456, 123456, 123456, 123456, 123456, 123456, 123456, 123456,"
        " array_fill(n, array[15]), array_fill(n, array[15]) from generate_series(1, 2017) n returning 1",
        engine.queue_id,
    )
    yield engine
    engine.connection.execute("delete from signalbox.history_record where aggregation_id = -1")


def typed(when: datetime) -> str:
    return f"{when:%Y-%m-%dT%H:%M}"


def test_every_range_is_one_link_away_and_in_the_address(viewer: Browser, engine: Engine) -> None:
    page = viewer.see(f"/queues/{engine.queue}/history", range="24h")

    assert [one.text for one in page.all("a", aria_current="true")] == ["24h"]
    assert page.link("14d") == "?range=14d"
    assert "The last 24 hours" in page.text


def test_a_stretch_is_given_by_its_ends(viewer: Browser, engine: Engine) -> None:
    start = datetime.now(UTC) - timedelta(hours=5)

    page = viewer.see(
        f"/queues/{engine.queue}/history",
        **{"from": typed(start), "to": f"{start + timedelta(hours=1):%Y-%m-%dT%H:%M}"},
    )

    assert f"{start:%Y-%m-%d %H:%M} to" in page.text
    assert page.one("input", name="from").attributes["value"] == f"{start:%Y-%m-%d %H:%M}"
    assert not page.all("a", aria_current="true")


@pytest.fixture
def ten_minutes(engine: Engine) -> Iterator[Engine]:
    """A queue whose history begins ten minutes ago: the oldest there is in a database that is younger than a day."""
    bucket = "date_bin('1 minute', now(), '2000-01-01') - n * interval '1 minute'"
    engine.rows(
        f"insert into signalbox.history_record select 60, {bucket}, 60, -1 from generate_series(1, 10) n"
        " on conflict do nothing returning 1"
    )
    engine.rows(
        "insert into signalbox.queue_history_minute (queue_id, bucket_at, seconds, ready, scheduled, waiting, leased,"
        " dead, added, removed, published, delivered, redelivered, acked, nacked, lease_expired, dead_lettered)"
        f" select %s, {bucket}, 60, 5, 0, 0, 0, 0, 6, 6, 6, 6, 0, 6, 0, 0, 0 from generate_series(1, 10) n returning 1",
        engine.queue_id,
    )
    yield engine
    engine.connection.execute("delete from signalbox.history_record where aggregation_id = -1")


def test_a_beginning_that_nothing_is_known_of_is_said(viewer: Browser, ten_minutes: Engine) -> None:
    assert "No data before" in viewer.see(f"/queues/{ten_minutes.queue}/history", range="24h").text


def test_what_cannot_be_shown_says_why(viewer: Browser, engine: Engine) -> None:
    path = f"/queues/{engine.queue}/history"

    assert "There is no range <b>" in viewer.see(path, range="<b>").text
    assert "such as 2026-01-31 14:30" in viewer.see(path, **{"from": "yesterday"}).text
    assert "From must be before To" in viewer.see(path, **{"from": "2999-01-01T00:00"}).text
    assert "back one year" in viewer.see(path, **{"from": "2020-01-01T00:00"}).text


def test_each_page_is_read_in_as_many_queries(viewer: Browser, engine: Engine) -> None:
    Alert.objects.all().delete()  # where one of an earlier test fires, pages ask whether it is silenced
    engine.send("x")
    engine.value("select signalbox.record_history()")
    paths = {f"/queues/{engine.queue}/history": 21, "/history": 21, "/tenants/1/history": 21}
    for path, most in paths.items():
        for shown in ("15m", "14d"):
            viewer.see(path, range=shown)
            with CaptureQueriesContext(connection) as queries:
                viewer.see(path, range=shown)
            assert len(queries) <= most, [query["sql"][:80] for query in queries]


def test_two_weeks_are_drawn_and_stay_light(viewer: Browser, two_weeks: Engine) -> None:
    page = viewer.see(f"/queues/{two_weeks.queue}/history", range="14d")

    assert len(page.all("figure")) == 7
    assert len(re.findall(r"<rect x=-?[0-9]", page.html)) > 7 * 80
    assert len(page.html.encode()) <= MOST_BYTES
    assert "style=" not in page.html


@pytest.mark.parametrize("shown", ranges.RANGES)
def test_no_range_has_more_points_than_are_light(viewer: Browser, engine: Engine, shown: str) -> None:
    page = viewer.see(f"/queues/{engine.queue}/history", range=shown)

    assert len(re.findall(r"<rect x=-?[0-9]", page.html)) <= 7 * (ranges.MAX_STEPS + 1)
    assert len(page.html.encode()) <= MOST_BYTES


def test_a_chart_says_its_values_and_is_a_table_too(viewer: Browser, two_weeks: Engine) -> None:
    page = viewer.see(f"/queues/{two_weeks.queue}/history", range="7d")

    label = page.all("svg", tabindex="0")[0].attributes["aria-label"]
    assert label.startswith("Messages: ready 12")
    assert "Time, UTC" in page.text
    assert any(" · p50" in title.text for title in page.all("title"))


def test_a_gap_is_said_in_words(viewer: Browser, two_weeks: Engine) -> None:
    two_weeks.connection.execute(
        "delete from signalbox.history_record where step_seconds = 600"
        " and bucket_at between now() - interval '5 days' and now() - interval '4 days'"
    )

    assert "because upkeep was not running" in viewer.see(f"/queues/{two_weeks.queue}/history", range="7d").text


def test_redrives_are_marked_and_listed_with_a_link(viewer: Browser, two_weeks: Engine) -> None:
    when = datetime.now(UTC) - timedelta(days=3)
    common = {"as_of": when, "lower_bound": 0, "upper_bound": 1, "cursor": 0, "started_at": when}
    mine = Redrive.objects.create(created_by="<b>ann", source_queues=[two_weeks.queue], state="done", **common)
    other = Redrive.objects.create(created_by="bob", source_queues=["elsewhere"], state="done", **common)

    page = viewer.see(f"/queues/{two_weeks.queue}/history", range="7d")

    assert page.link(f"Redrive #{mine.pk} by <b>ann started") == f"/redrives/{mine.pk}"
    assert len(page.all("path", class_="mark")) == 7
    assert f"/redrives/{other.pk}" not in page.html
    around = {"from": typed(when - timedelta(hours=1)), "to": typed(when + timedelta(hours=1))}
    assert f"/redrives/{other.pk}" in viewer.see("/history", **around).html


def test_alerts_are_marked_where_they_began(viewer: Browser, two_weeks: Engine) -> None:
    when = datetime.now(UTC) - timedelta(days=3)
    for name, queue, state in [
        ("SignalboxDeadLetters", f"{two_weeks.queue}-dlq", "resolved"),
        ("SignalboxNoConsumers", two_weeks.queue, "pending"),
        ("SignalboxNoConsumers", "elsewhere", "firing"),
        ("SignalboxWatchdog", "", "firing"),
    ]:
        Alert.objects.create(
            source="prometheus", fingerprint=uuid4().hex, state=state, name=name, queue_name=queue, starts_at=when
        )

    page = viewer.see(f"/queues/{two_weeks.queue}/history", range="7d")

    assert page.link(f"SignalboxDeadLetters fired for {two_weeks.queue}-dlq") == "/alerts"
    assert "SignalboxNoConsumers" not in page.text
    everywhere = viewer.see("/history", range="7d")
    assert "SignalboxNoConsumers fired for elsewhere" in everywhere.text
    assert "SignalboxWatchdog" not in everywhere.text
    Alert.objects.filter(starts_at=when).delete()


def test_a_dead_letter_queue_shows_what_it_keeps(viewer: Browser, engine: Engine) -> None:
    engine.die("x")

    page = viewer.see(f"/queues/{engine.queue}-dlq/history")

    charts = page.html.split('<div class="charts">')[1].split("</section>")[0]
    assert [one.text for one in Page(charts).all("h3")] == ["Dead letters", "Sent and completed per second"]


def test_a_tenant_that_does_not_exist_is_not_found(viewer: Browser) -> None:
    assert "There is no such tenant." in viewer.see("/tenants/999999/history", status=404).text


def test_a_user_without_a_role_sees_no_history(sign_in: Callable[[str], Browser], engine: Engine) -> None:
    for path in ("/history", "/tenants/1/history", f"/queues/{engine.queue}/history"):
        sign_in("no role").see(path, status=403)


@pytest.mark.parametrize(
    ("length", "labels"),
    [
        (timedelta(minutes=20), ["11:00", "11:05", "11:10", "11:15", "11:20"]),
        (timedelta(days=2), ["Jan 2 11:00", "Jan 2 23:00", "Jan 3 11:00", "Jan 3 23:00", "Jan 4 11:00"]),
        (
            timedelta(days=3, hours=8),
            ["Jan 2 11:00", "Jan 3 07:00", "Jan 4 03:00", "Jan 4 23:00", "Jan 5 19:00"],
        ),
        (timedelta(days=8), ["Jan 2", "Jan 4", "Jan 6", "Jan 8", "Jan 10"]),
    ],
)
def test_the_axis_says_times_that_fit_its_length(length: timedelta, labels: list[str]) -> None:
    start = datetime(2026, 1, 2, 11, tzinfo=UTC)

    assert time_axis.TimeAxis(start, start + length, timedelta(minutes=5)).labels == labels
