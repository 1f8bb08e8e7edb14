"""The Celery tasks run the request of a row once, in the name of its author."""

from __future__ import annotations

import logging
import subprocess
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from pipeline import tasks
from pipeline.jobs import starting
from pipeline.models import Run, RunRequest
from queues.control import archive_horizon
from tests.dlq.processes import environment
from tests.pipeline.conftest import Archive

HOSTILE: list[Any] = [
    ["--settings=pwn", "--pythonpath=/tmp", "x"],
    "--settings=pwn",
    {"actor": "admin"},
    -1,
    True,
    2**63,
    4_000_000_000,
    None,
    1.5,
]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines that were run, none of them for real."""
    found: list[list[str]] = []

    def refuse(command: list[str], **_: Any) -> None:
        found.append(command)
        raise OSError("not in this test")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    return found


@pytest.mark.parametrize("given", HOSTILE, ids=repr)
def test_a_forged_task_runs_no_command(archive: Archive, commands: list[list[str]], given: Any) -> None:
    tasks.run(given)
    tasks.erase(given)

    assert commands == []
    assert not Run.objects.filter(state=Run.State.RUNNING).exists()


def test_a_request_is_run_once_with_its_own_arguments(archive: Archive, commands: list[list[str]]) -> None:
    request = starting.make("rollup", actor="ann")

    with pytest.raises(OSError, match="not in this test"):
        tasks.run(request.pk)
    (command,) = commands
    assert command[2:6] == ["pipeline", "perform", "--with-input", str(request.pk)]
    assert [word for word in command[6:] if not word.startswith("--on-server=")] == []

    taken = starting.take(request.pk)
    assert taken is not None
    assert taken.requested_by == "ann"
    assert starting.take(request.pk) is None
    tasks.run(request.pk)
    assert len(commands) == 1


def test_an_old_request_is_not_run(archive: Archive, commands: list[list[str]]) -> None:
    request = starting.make("archive", actor="ann")
    old = timezone.now() - timedelta(seconds=starting.EXPIRES_SECONDS + 1)
    RunRequest.objects.filter(pk=request.pk).update(requested_at=old)

    tasks.run(request.pk)

    assert commands == []


def test_a_tick_without_a_schedule_or_too_early_runs_nothing(
    archive: Archive, commands: list[list[str]], settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    RunRequest.objects.all().delete()
    tasks.archive()
    assert commands == []
    assert "ARCHIVE_SCHEDULE is set for beat but not for this worker" in caplog.text

    settings.PIPELINE_SCHEDULES = {"archive": 900.0}
    with pytest.raises(OSError, match="not in this test"):
        tasks.archive()
    tasks.archive()
    assert len(commands) == 1
    assert starting.make_scheduled("archive", 900.0) is None
    half = timezone.now() - timedelta(seconds=460)
    RunRequest.objects.filter(kind="archive").update(requested_at=half)
    assert starting.make_scheduled("archive", 900.0) is not None


def test_a_task_archives_up_to_now(archive: Archive, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = archive.connection.execute(
        "update signalbox.archive_horizon set below = below - 1 returning below"
    ).fetchone()
    for name, value in environment(dsn).items():
        monkeypatch.setenv(name, value)

    tasks.run(starting.make("archive", actor="ann").pk)

    at = archive_horizon.read()
    assert at is not None
    assert before is not None
    assert at.below > before[0]
    last = Run.objects.filter(kind=Run.Kind.ARCHIVE).order_by("-pk").first()
    assert last is None or last.started_by == "ann"


def test_a_task_that_fails_says_so_in_the_log(
    archive: Archive, dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in environment(dsn).items():
        monkeypatch.setenv(name, value)
    archive.connection.execute("select pg_advisory_lock(hashtext('signalbox.rollup'), 0)")
    caplog.set_level(logging.WARNING)

    tasks.run(starting.make("rollup", actor="ann").pk)

    assert "Another process is doing this work" in caplog.text
