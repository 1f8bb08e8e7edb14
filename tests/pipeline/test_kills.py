"""kill -9 at every step of an archive run: the next run finishes it, and nothing is lost or there twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.archive import horizon
from pipeline.models import Run
from tests.dlq.processes import PROJECT, environment
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle


def contents(archive: Archive) -> dict[str, bytes]:
    """Of whole files: what was begun has another name."""
    return {path: (Path(archive.url) / path).read_bytes() for path in archive.files() if path.endswith(".parquet")}


STEPS = ["opened", "writing", "written", "committing", "committed"]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_run_is_finished_by_the_next(
    archive: Archive, engine: Engine, dsn: str, step: str, first: bool
) -> None:
    """Also the very first: history waits for it for good only once it has succeeded."""
    if first:
        assert horizon.release()
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
    left, at = Run.objects.get(), horizon.read()
    assert at is not None
    assert at.holds is (not first or step == "committed")
    before = contents(archive)
    archive.run()

    run = Run.objects.get(pk=left.pk)
    assert run.state == Run.State.COMMITTED
    assert run.attempts == (1 if step == "committed" else 2)
    assert sorted(archive.ids("settled", engine) + archive.ids("dead_letters", engine)) == sorted(ids)
    assert archive.files() == archive.named()
    after = contents(archive)
    assert {path: after[path] for path in before if path in after} == {
        path: content for path, content in before.items() if path in after
    }
    assert step != "written" or set(before) <= set(after)
    assert sum(one.rows for one in Run.objects.all()) == sum(
        file.rows for one in Run.objects.all() for file in one.files.all()
    )
