"""kill -9 at every step of an archive run: the next run finishes it, and nothing is lost or there twice."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from pipeline.models import Run
from tests.dlq.processes import PROJECT, environment
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle


@pytest.mark.parametrize("step", ["opened", "writing", "written", "committing", "committed"])
def test_a_killed_run_is_finished_by_the_next(archive: Archive, engine: Engine, dsn: str, step: str) -> None:
    ids = settle(engine, 12)
    ids += [engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", engine.die({}))]
    archive.until_over()

    killed = subprocess.run(
        [sys.executable, "-m", "tests.pipeline.killed", archive.url, step],
        cwd=PROJECT,
        env=environment(dsn),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = Run.objects.get()
    archive.run()

    run = Run.objects.get(pk=left.pk)
    assert run.state == Run.State.COMMITTED
    assert run.attempts == (1 if step == "committed" else 2)
    assert sorted(archive.ids("settled", engine) + archive.ids("dead_letters", engine)) == sorted(ids)
    assert archive.files() == archive.named()
    assert sum(one.rows for one in Run.objects.all()) == sum(
        file.rows for one in Run.objects.all() for file in one.files.all()
    )
