"""Schedules of the pipeline: the entries of beat, and the tasks that they name."""

from __future__ import annotations

from celery import current_app
from celery.schedules import crontab

from pipeline import tasks
from pipeline.jobs import schedules
from tests.dlq.processes import PROJECT


def test_seconds_and_crontabs_are_understood_and_nothing_is_never() -> None:
    assert schedules.parsed("900") == 900.0
    assert schedules.parsed("*/15 2 1 * 0") == crontab("*/15", "2", "0", "1", "*")
    assert schedules.parsed("") is None


def test_beat_gets_only_the_configured_schedules() -> None:
    told = schedules.beat({"archive": 900.0, "rollup": None})

    assert [(entry["task"], entry["schedule"], "kwargs" in entry) for entry in told.values()] == [
        ("pipeline.archive", 900.0, False)
    ]


def test_each_verb_that_has_a_schedule_has_a_task() -> None:
    assert tasks.archive.name in current_app.tasks
    settings = (PROJECT / "console/environment.py").read_text()
    verbs = [verb for verb in ("archive", "rollup", "analyse") if f'"{verb.upper()}_SCHEDULE"' in settings]

    assert verbs
    assert {f"pipeline.{verb}" for verb in verbs} <= set(current_app.tasks)
