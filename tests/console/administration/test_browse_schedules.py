"""Schedules: the periodic runs with last and next time, and the scheduled messages by hour and queue."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from celery.schedules import crontab
from django.conf import LazySettings
from django.utils import timezone

from console.overview import standings
from pipeline.jobs import schedules, starting
from pipeline.models import RunRequest
from queues.messages import due
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
    assert archive.startswith("Pipeline: archive every 7200 seconds ARCHIVE_SCHEDULE ")
    assert archive.endswith("in 1 h")
    assert [row for row in rows if row.startswith("Pipeline: rollup */15 3 * * * ROLLUP_SCHEDULE")]
    assert not [row for row in rows if row.startswith("Pipeline: analyse")]


def test_the_next_time_follows_from_schedule_and_last_run() -> None:
    now = datetime(2026, 1, 1, 12, 7, tzinfo=UTC)

    assert schedules.next_time(600.0, now - timedelta(seconds=900), now) == now - timedelta(seconds=300)
    assert schedules.next_time(600.0, None, now) == now
    assert schedules.in_words(crontab("*/15")) == "*/15 * * * *"


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


def test_a_person_with_grants_sees_only_granted_queues(commits: None, engine: Engine, settings: LazySettings) -> None:
    settings.PIPELINE_SCHEDULES = {"archive": 7200.0}
    engine.send({}, delay_seconds=3 * 3600)
    standings.forget()

    granted = sign_in_with({"viewer": [(None, engine.queue)]}).see("/schedules")
    other = sign_in_with({"viewer": [(None, "elsewhere-")]}).see("/schedules")

    assert engine.queue in granted.text
    assert engine.queue not in other.html
    assert "Pipeline: archive" not in granted.text
