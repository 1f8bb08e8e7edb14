"""Schedules: the periodic runs with last and next time, and the scheduled messages by hour and queue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from celery.schedules import crontab
from django.conf import LazySettings
from django.utils import timezone

from console.overview import standings
from pipeline.jobs import schedules, starting
from pipeline.models import RunRequest
from queues.messages import due
from signalbox.celery.processes.beat import in_words
from tests.console.access.reaches import sign_in_with
from tests.console.browsers import Browser
from tests.engine import Engine


@pytest.fixture
def run_at(commits: None) -> Iterator[datetime]:
    """Time of an archive run that a schedule started."""
    row = starting.make("archive", actor=schedules.ACTOR)
    yield row.requested_at
    RunRequest.objects.filter(pk=row.pk).delete()


def test_periodic_runs_show_their_last_and_next_time(viewer: Browser, settings: LazySettings, run_at: datetime) -> None:
    settings.PIPELINE_SCHEDULES = {"archive": 7200.0, "rollup": crontab("*/15", "3"), "analyse": None}

    rows = viewer.see("/schedules").rows()

    [archive] = [row.replace("\xa0", " ") for row in rows if row.startswith("Pipeline: archive")]
    assert archive.startswith("Pipeline: archive ARCHIVE_SCHEDULE Signalbox signalbox-pipeline every 7200 seconds ")
    assert archive.endswith("in 1 h")
    assert [row for row in rows if row.startswith("Pipeline: rollup ROLLUP_SCHEDULE") and "*/15 3 * * *" in row]
    assert not [row for row in rows if row.startswith("Pipeline: analyse")]


def report(engine: Engine, application: str, *entries: object, ago: str = "0") -> None:
    call = "select signalbox.report_schedule(%s, 'web-1:7', %s::jsonb)"
    engine.connection.execute(call, [application, json.dumps(entries)])
    engine.connection.execute(
        "update signalbox.beat_schedule set reported_at = now() - %s::interval where application = %s",
        [ago, application],
    )


@pytest.fixture
def shop(commits: None, engine: Engine) -> Iterator[str]:
    """An application that sends a task to the queue of the test, and one to a queue that does not exist."""
    name = f"shop-{engine.queue}"
    now = datetime.now(UTC)
    work = {"name": "sweep", "task": "shop.sweep", "queue": engine.queue, "schedule": "every 60 seconds"}
    times = {
        "last_at": (now - timedelta(hours=2)).isoformat(),
        "next_at": (now + timedelta(hours=3, minutes=1)).isoformat(),
    }
    report(engine, name, work | times, {"name": "lost", "queue": "no/<b>such</b>", "next_at": "soon"}, "hostile")
    yield name
    engine.connection.execute("delete from signalbox.beat_schedule where application = %s", [name])


def test_a_periodic_task_of_an_application_shows_who_sends_it_where_and_when(
    viewer: Browser, engine: Engine, shop: str
) -> None:
    page = viewer.see("/schedules")

    rows = [row.replace("\xa0", " ") for row in page.rows() if shop in row]
    assert rows[0] == f"sweep shop.sweep {shop} web-1:7 {engine.queue} every 60 seconds 2 h ago in 3 h"
    assert "no/<b>such</b>" in rows[1]
    assert "never" in rows[1]
    assert "unknown" in rows[1]
    assert f'href="/queues/{engine.queue}"' in page.html


def test_a_beat_that_reports_no_longer_is_marked(viewer: Browser, engine: Engine, shop: str) -> None:
    report(engine, shop, {"name": "sweep", "queue": engine.queue}, ago="3 minutes")

    [row] = [row for row in viewer.see("/schedules").rows() if shop in row]

    assert "no report since" in row


def test_schedules_without_a_report_for_a_week_are_deleted_by_the_next_report(
    viewer: Browser, engine: Engine, shop: str
) -> None:
    report(engine, shop, {"name": "sweep"}, ago="8 days")
    assert shop not in viewer.see("/schedules").html

    report(engine, f"{shop}-2")

    assert not engine.value("select count(*) from signalbox.beat_schedule where application = %s", shop)
    engine.connection.execute("delete from signalbox.beat_schedule where application = %s", [f"{shop}-2"])


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ("null, 's', '[]'", "application"),
        ("'a', repeat('s', 201), '[]'", "sender"),
        ("'a', 's', '{}'", "entries"),
        ("'a', 's', (select jsonb_agg(1) from generate_series(1, 1001))", "entries"),
        ("'a', 's', jsonb_build_array(repeat('x', 1048576))", "entries"),
    ],
)
def test_a_report_out_of_its_limits_is_refused_by_the_name_of_its_field(
    engine: Engine, arguments: str, field: str
) -> None:
    with pytest.raises(psycopg.Error, match=field):
        engine.connection.execute(f"select signalbox.report_schedule({arguments})")


def test_the_next_time_follows_from_schedule_and_last_run() -> None:
    now = datetime(2026, 1, 1, 12, 7, tzinfo=UTC)

    assert schedules.next_time(600.0, now - timedelta(seconds=900), now) == now - timedelta(seconds=300)
    assert schedules.next_time(600.0, None, now) == now
    assert in_words(crontab("*/15")) == "*/15 * * * *"


def test_scheduled_messages_are_counted_by_hour_and_queue(viewer: Browser, engine: Engine) -> None:
    now = timezone.now()
    for delay in (3 * 3600, 3 * 3600, 26 * 3600):
        engine.send({}, delay_seconds=delay)

    hours = due.due_by_hour([engine.queue_id], now)

    assert hours is not None
    assert [[count.messages for count in hour.counts] for hour in hours] == [[2]]
    assert hours[0].start == (now + timedelta(hours=3)).replace(minute=0, second=0, microsecond=0)
    standings.forget()
    assert [row for row in viewer.see("/schedules").rows() if f"{engine.queue} 2" in row]


def test_an_overdue_message_is_in_the_first_hour_and_a_count_is_cut(
    commits: None, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        engine.send({}, delay_seconds=600)
    engine.connection.execute(
        "update signalbox.scheduled set due_at = now() - interval '2 hours' where queue_id = %s", [engine.queue_id]
    )
    monkeypatch.setattr(due, "MAX_COUNTED", 2)

    [hour] = due.due_by_hour([engine.queue_id], timezone.now()) or []

    assert (hour.counts[0].messages, hour.counts[0].is_cut) == (2, True)


def test_a_person_with_grants_sees_only_granted_queues(engine: Engine, settings: LazySettings, shop: str) -> None:
    settings.PIPELINE_SCHEDULES = {"archive": 7200.0}
    engine.send({}, delay_seconds=3 * 3600)
    standings.forget()

    granted = sign_in_with({"viewer": [(None, engine.queue)]}).see("/schedules")
    other = sign_in_with({"viewer": [(None, "elsewhere-")]}).see("/schedules")

    assert engine.queue in granted.text
    assert engine.queue not in other.html
    assert "Pipeline: archive" not in granted.text
    assert "shop.sweep" in granted.text
    assert "no/" not in granted.text
    assert shop not in other.html
