"""Celery beat reports its schedule: which application sends which task when."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery.beat import Scheduler
from celery.schedules import crontab
from celery.schedules import schedule as interval

from signalbox.celery.processes import beat
from tests.signalbox.celery.conftest import Shop, wait_until

SCHEDULE = {
    "each minute": {"task": "shop.work", "schedule": 60.0, "args": ["a secret argument"]},
    "at night": {"task": "shop.other", "schedule": crontab("0", "3"), "options": {"queue": "night shift"}},
}


@pytest.fixture
def reporting(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    """The scheduler of a shop with two periodic tasks, which reports after each tick."""
    monkeypatch.setattr(Scheduler, "tick", Scheduler.tick)
    monkeypatch.setattr(beat, "REPORT_SECONDS", 0.0)
    beat.report_schedules()
    shop.app.main = shop.queue
    shop.app.conf.update(beat_schedule=SCHEDULE, broker_connection_max_retries=1)
    return Scheduler(shop.app)


def reported(shop: Shop, application: str) -> list[dict[str, Any]]:
    """Entries of the last report, by name."""
    rows = shop.rows("select entries from signalbox.beat_schedule where application = %s", application)
    return sorted(rows[0][0], key=lambda entry: str(entry["name"])) if rows else []


def test_beat_reports_what_it_sends_when_to_which_queue(shop: Shop, reporting: Scheduler) -> None:
    reporting.tick()

    at_night, each_minute = reported(shop, shop.queue)
    assert (each_minute["task"], each_minute["queue"]) == ("shop.work", shop.queue)
    assert (each_minute["schedule"], each_minute["last_at"]) == ("every 60 seconds", None)
    assert datetime.fromisoformat(each_minute["next_at"]) > datetime.now(UTC)
    assert (at_night["schedule"], at_night["queue"][:12]) == ("0 3 * * *", "night-shift-")  # as the engine names it
    assert "secret" not in str([each_minute, at_night])


def test_a_report_has_the_last_time_and_waits_for_tasks_that_are_due(shop: Shop, reporting: Scheduler) -> None:
    entry = reporting.schedule["each minute"]
    entry.last_run_at -= timedelta(seconds=90)
    assert reporting.tick() == 0  # sent, and there may be more
    assert reported(shop, shop.queue) == []

    reporting.tick()

    each_minute = reported(shop, shop.queue)[1]
    last_at, next_at = (datetime.fromisoformat(each_minute[name]) for name in ("last_at", "next_at"))
    assert timedelta(seconds=58) < next_at - last_at < timedelta(seconds=62)


def test_a_report_that_fails_is_logged_once_and_beat_goes_on(
    shop: Shop, reporting: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    shop.app.main = "\0"
    with caplog.at_level(logging.WARNING, logger=beat.__name__):
        assert [reporting.tick() is not None for _ in range(2)] == [True, True]

    assert [record.message for record in caplog.records if record.name == beat.__name__] == [
        "The schedule of Celery beat could not be reported to the console."
    ]


def test_schedules_of_every_kind_have_words(shop: Shop) -> None:
    berlin = crontab("30", "*/2", app=shop.app)
    shop.app.conf.timezone = "Europe/Berlin"

    assert beat.in_words(berlin) == "30 */2 * * * Europe/Berlin"
    assert beat.in_words(interval(timedelta(minutes=2))) == "every 120 seconds"
    assert beat.in_words(0.5) == "every 0.5 seconds"


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_a_process_of_beat_reports_before_it_sends_anything(shop: Shop) -> None:
    shop.conf["beat_schedule"] = {"far": {"task": "shop.work", "schedule": 86400.0, "args": ["far"]}}
    shop.rows("delete from signalbox.beat_schedule")

    process = shop.start(f"{shop.queue}-beat", "beat", "--schedule", str(shop.home / "beat"))

    wait_until(lambda: reported(shop, "shop"), process.said)
    assert "far" in [entry["name"] for entry in reported(shop, "shop")]
