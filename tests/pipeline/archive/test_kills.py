"""kill -9 at every step of an archive run and of a rollup: the next one finishes it; nothing is lost or there twice."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from pipeline.archive.schemas import KINDS
from pipeline.errors import Busy
from pipeline.models import Run
from pipeline.rollups import rolling
from queues.control import archive_horizon
from tests.engine import Engine
from tests.pipeline.archive.test_archiving import streamed
from tests.pipeline.conftest import Archive, settle
from tests.pipeline.forks import Forks
from tests.pipeline.rollups.plain_rollups import buckets, plainly, rolled_up, sent, sent_by_hour
from tests.pipeline.spark.conforming_data import everything
from tests.races.sessions import until
from tests.streams import make_log

pytestmark = pytest.mark.proof


def contents(archive: Archive) -> dict[str, bytes]:
    """Names of complete files: incomplete files have another name."""
    return {path: (Path(archive.url) / path).read_bytes() for path in archive.files() if path.endswith(".parquet")}


STEPS = ["opened", "writing", "written", "committing", "committed"]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_run_is_finished_by_the_next(
    archive: Archive, engine: Engine, forks: Forks, step: str, first: bool
) -> None:
    """The very first run counts too: history is kept for the archive only after its success."""
    if first:
        assert archive_horizon.release()
    ids = settle(engine, 12)
    ids += [engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", engine.die({}))]
    log = make_log(archive.connection, partitions=2)
    places = sorted(log.append({"n": n}) for n in range(10))
    archive.until_over()

    killed = forks.run("tests.pipeline.archive.killed", archive.url, step)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left, at = Run.objects.get(), archive_horizon.read()
    assert at is not None
    assert at.holds is (not first or step == "committed")
    before = contents(archive)
    archive.run()

    run = Run.objects.get(pk=left.pk)
    assert run.state == Run.State.COMMITTED
    assert run.attempts == (1 if step == "committed" else 2)
    assert sorted(archive.ids("settled", engine) + archive.ids("dead_letters", engine)) == sorted(ids)
    assert [(row["partition"], row["position"]) for row in streamed(archive, log.stream_id)] == places
    assert archive.files() == archive.named()
    after = contents(archive)
    assert {path: after[path] for path in before if path in after} == {
        path: content for path, content in before.items() if path in after
    }
    assert step != "written" or set(before) <= set(after)
    assert sum(one.rows for one in Run.objects.all()) == sum(
        file.rows for one in Run.objects.all() for file in one.files.all()
    )


@pytest.mark.parametrize("step", ["begun", "replaced", "committing", "committed"])
def test_what_a_killed_rollup_leaves_is_made_good_by_the_next(
    archive: Archive, engine: Engine, forks: Forks, step: str
) -> None:
    for count in (6, 3):
        settle(engine, count)
        engine.die({})
        archive.run()

    killed = forks.run("tests.pipeline.rollups.killed_rollup", step)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert Run.objects.filter(kind=Run.Kind.ROLLUP, state=Run.State.COMMITTED).exists() is (step == "committed")
    assert Run.objects.filter(kind=Run.Kind.ARCHIVE, taken_in_by=None).exists() is (step != "committed")
    with plainly():
        done = until(rolled, "the end of the process that was rolling up")

    content = {kind: everything(archive.url, kind) for kind in KINDS}
    assert rolled_up() == buckets(content)
    assert sent_by_hour() == sent(content)
    assert done.archive_runs == (0 if step == "committed" else 2)
    assert not Run.objects.filter(kind=Run.Kind.ARCHIVE, taken_in_by=None).exists()
    assert not Run.objects.filter(state=Run.State.RUNNING).exists()


def rolled() -> rolling.RolledUp | None:
    """Result is None until the server knows that a killed process is gone."""
    try:
        return rolling.roll_up(lambda: None, actor="tests")  # type: ignore[arg-type,return-value]
    except Busy:
        return None
