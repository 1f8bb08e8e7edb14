"""Time limits of runs: a run that takes too long is cancelled, and its process is killed if it does not stop."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from pipeline.jobs import time_limits
from pipeline.models import Run
from queues.models import AuditEvent
from tests.pipeline.conftest import Archive

WAITS = "import sys; print('up', flush=True); sys.stdin.read()"
REFUSES_TO_END = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS}"


@pytest.fixture
def limits(settings: Any, archive: Archive) -> Any:
    settings.PIPELINE_TIME_LIMIT_SECONDS, settings.PIPELINE_KILL_SECONDS = 0.01, 0.01
    return settings


@pytest.fixture
def run_of_a_kind(archive: Archive) -> Iterator[Any]:
    def start(kind: str) -> Run:
        Run.objects.filter(state="running").update(state="failed")
        run = Run.objects.create(kind=kind, token="", url="", parts=[], started_by="ann")
        run.refresh_from_db()
        return run

    yield start
    Run.objects.filter(state="running").update(state="failed")


def process(program: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    started = subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe, start_new_session=True)
    assert started.stdout
    started.stdout.readline()
    return started


def test_a_run_that_takes_too_long_is_cancelled_and_then_killed(limits: Any, run_of_a_kind: Any) -> None:
    run, hanging = run_of_a_kind("rollup"), process(REFUSES_TO_END)

    time_limits.wait(hanging, "rollup")

    run.refresh_from_db()
    assert (hanging.returncode, run.state) == (-9, "failed")
    assert "The process was killed" in run.error
    [asked] = AuditEvent.objects.filter(action="pipeline.cancel", details__run_id=run.pk, at__gte=run.started_at)
    assert (asked.actor, "PIPELINE_TIME_LIMIT_SECONDS" in asked.reason) == ("signalbox", True)


def test_the_next_archive_run_cleans_up_after_a_killed_one(limits: Any, run_of_a_kind: Any) -> None:
    run = run_of_a_kind("archive")

    time_limits.wait(process(REFUSES_TO_END), "archive")

    run.refresh_from_db()
    assert (run.state, run.cancel_requested) == ("running", True)
    assert "The process was killed" in run.error


def test_a_process_without_a_run_is_terminated(limits: Any) -> None:
    limits.PIPELINE_KILL_SECONDS = 60
    waiting = process(WAITS)

    time_limits.wait(waiting)

    assert waiting.returncode == -15


def test_a_run_within_its_limit_is_left_alone(limits: Any, run_of_a_kind: Any) -> None:
    limits.PIPELINE_TIME_LIMIT_SECONDS = 0
    run, short = run_of_a_kind("rollup"), process("print('up')")

    time_limits.wait(short, "rollup")

    run.refresh_from_db()
    assert (short.returncode, run.state, run.cancel_requested) == (0, "running", False)


def test_a_run_without_progress_is_stalled(settings: Any, run_of_a_kind: Any) -> None:
    settings.PIPELINE_STALLED_SECONDS = 300
    run, now = run_of_a_kind("rollup"), timezone.now()

    for quiet_seconds, stalled in ((290, False), (310, True)):
        run.seen_at = run.started_at = now - timedelta(seconds=quiet_seconds)
        assert run.is_stalled is stalled
    run.state = Run.State.COMMITTED
    assert not run.is_stalled
