"""Some of everything that an archive has, and what has to come of it, reckoned without any Spark.

Files by the same task in this process, buckets in plain Python.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from pipeline.archive.files import Store
from pipeline.archive.kinds import KINDS
from pipeline.models import ArchiveFile, Run
from tests.dlq.processes import PROJECT
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle
from tests.pipeline.plain_rollups import Bucket, buckets, rolled_up, sent, sent_by_hour


@dataclass(frozen=True)
class Expected:
    """What the window of the test has."""

    manifest: list[tuple[Any, ...]]
    content: dict[str, pa.Table]
    buckets: dict[Bucket, dict[str, Any]]
    sent: Counter[tuple[int, datetime]]


@pytest.fixture
def expected(archive: Archive, engine: Engine) -> Expected:
    """Some of everything that there is, archived without Spark; afterwards the horizon is where it was."""
    settle(engine, 12)
    engine.send({"n": "is tried again"})
    engine.nack(engine.receive_one()[1])
    engine.die({"n": "dies"})
    archive.until_over()
    before = archive.connection.execute("select below from signalbox.archive_horizon").fetchone()
    archive.run()
    content = {kind: everything(archive.url, kind) for kind in KINDS}
    found = Expected(manifest(), content, buckets(content), sent(content))
    assert before is not None
    archive.connection.execute("truncate signalbox.pipeline_file, signalbox.pipeline_run cascade")
    archive.connection.execute("update signalbox.archive_horizon set below = %s", before)
    return found


def assert_conforms(expected: Expected, url: str, *, with_rollups: bool = True) -> None:
    """What is archived at `url`, and what was made of it, is what was expected."""
    assert manifest() == expected.manifest
    assert {kind: everything(url, kind) for kind in KINDS} == expected.content
    assert {run.state for run in Run.objects.all()} == {Run.State.COMMITTED}
    if with_rollups:
        assert rolled_up() == expected.buckets
        assert sent_by_hour() == expected.sent


def run(command: Sequence[str], variables: dict[str, str]) -> str:
    """What it says."""
    done = subprocess.run(command, cwd=PROJECT, env=variables, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def manifest() -> list[tuple[Any, ...]]:
    """The manifest but for what names the run."""
    rows = ArchiveFile.objects.order_by("part", "day").values_list(
        "kind", "day", "part", "rows", "bytes", "first_at", "last_at"
    )
    return list(rows)


def everything(url: str, kind: str) -> pa.Table:
    files = ArchiveFile.objects.filter(kind=kind).order_by("part", "day").values_list("path", flat=True)
    return pa.concat_tables([KINDS[kind].schema.empty_table(), *[Store(url).read(path) for path in files]])
