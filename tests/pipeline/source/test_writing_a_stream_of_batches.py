"""A streaming query sends each of its rows once, whatever dies in between."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.dlq.processes import PROJECT, environment
from tests.engine import Engine
from tests.pipeline.source.dying import DyingSource
from tests.pipeline.source.killed import run
from tests.pipeline.source.test_writing import received
from tests.streams import Log, make_log

pytestmark = pytest.mark.timeout(1200)


@pytest.fixture
def log(connect: Callable[..., psycopg.Connection[Any]]) -> Log:
    return make_log(connect(), partitions=2)


@pytest.mark.proof
def test_batches_arrive_once(source: Any, url: str, log: Log, engine: Engine, tmp_path: Path) -> None:
    for n in range(6):
        log.append({"n": n})
    run(source, url, log.name, engine.queue, tmp_path)
    run(source, url, log.name, engine.queue, tmp_path)
    log.append({"n": 6})
    run(source, url, log.name, engine.queue, tmp_path)

    assert sorted(received(engine)) == [*range(7)]
    (row,) = engine.rows(
        "select writer, batch, messages from signalbox.write_ledger where target = %s", f"queue {engine.queue_id}"
    )
    assert row[0].startswith("spark ")
    assert row[1:] == (1, 1)


@pytest.mark.proof
def test_whatever_process_of_a_batch_is_killed_each_row_arrives_once(
    source: Any, url: str, log: Log, engine: Engine, tmp_path: Path
) -> None:
    """Write one batch repeatedly, and kill one of its processes at each step."""
    source.dataSource.register(DyingSource)
    for n in range(6):
        log.append({"n": n})

    for step in ("before write", "between tasks", "after write", "before commit", "after commit"):
        flag = tmp_path / step
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever Spark calls a worker that is gone
            run(source, url, log.name, engine.queue, tmp_path, "dying", die=step, flag=str(flag))
        assert flag.exists(), step
        assert engine.counted()[0] == (6 if step == "after commit" else 0)
    log.append({"n": 6})
    run(source, url, log.name, engine.queue, tmp_path)

    assert sorted(received(engine)) == [*range(7)]
    assert engine.counted() == engine.recounted()


@pytest.mark.proof
def test_all_of_spark_is_killed_and_each_row_arrives_once(
    source: Any, url: str, dsn: str, log: Log, make_engine: Callable[..., Engine], tmp_path: Path
) -> None:
    """One query has yet to commit its batch, another has done so, and Spark did not come to note it."""
    for n in range(6):
        log.append({"n": n})
    engines = {"before commit": make_engine(), "after commit": make_engine()}

    killed = subprocess.run(
        [sys.executable, "-m", "tests.pipeline.source.killed", url, log.name, tmp_path,
         *[f"{step}={engine.queue}" for step, engine in engines.items()]],
        cwd=PROJECT, env=environment(dsn), start_new_session=True, capture_output=True, text=True, timeout=480,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert [engine.counted()[0] for engine in engines.values()] == [0, 6]
    log.append({"n": 6})
    for engine in engines.values():
        run(source, url, log.name, engine.queue, tmp_path / engine.queue)

    assert [sorted(received(engine)) for engine in engines.values()] == [[*range(7)]] * 2
