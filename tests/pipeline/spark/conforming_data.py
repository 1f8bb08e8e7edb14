"""Sample of all data in an archive, with expected results computed without Spark.

Files by the same task in this process, buckets in plain Python.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from dlq.redrives.plan_models import Plan
from dlq.redrives.staged.models import StagedMessage
from pipeline.analysis.analysis_models import Comparison, Finding, Template
from pipeline.archive.files import Store
from pipeline.archive.schemas import KINDS
from pipeline.models import ArchiveFile, Run
from tests.dlq.processes import PROJECT
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle, ship
from tests.pipeline.rollups.plain_rollups import Bucket, buckets, rolled_up, sent, sent_by_hour

SETTLED, SHIPPED, DIED = 12, 60, 30


@dataclass(frozen=True)
class Expected:
    """Rows of the test's window."""

    manifest: list[tuple[Any, ...]]
    content: dict[str, pa.Table]
    buckets: dict[Bucket, dict[str, Any]]
    sent: Counter[tuple[int, datetime]]
    queue: str
    chosen: str
    """A filter, and the messages that a replay by it stages."""
    staged: list[int]


@pytest.fixture
def expected(archive: Archive, engine: Engine) -> Expected:
    """Archive a sample of everything without Spark; afterwards restore the horizon."""
    settle(engine, SETTLED)
    engine.send({"n": "is tried again"})
    engine.nack(engine.receive_one()[1])
    engine.die({"n": "dies"})
    ship(engine, DIED, dies=True, country="XX")
    ship(engine, SHIPPED, dies=False, country="DE")
    archive.until_over()
    before = archive.connection.execute("select below from signalbox.archive_horizon").fetchone()
    archive.run()
    content = {kind: everything(archive.url, kind) for kind in KINDS}
    chosen = f"queue:{engine.queue} payload.country:DE payload.order:>=10"
    staged = [row["message_id"] for row in archive.read("settled", engine) if is_chosen(json.loads(row["payload"]))]
    found = Expected(manifest(), content, buckets(content), sent(content), engine.queue, chosen, sorted(staged))
    assert before is not None
    archive.connection.execute("truncate signalbox.pipeline_file, signalbox.pipeline_run cascade")
    archive.connection.execute("update signalbox.archive_horizon set below = %s", before)
    return found


def is_chosen(payload: dict[str, Any]) -> bool:
    """Rows that the filter selects."""
    return bool(payload.get("country") == "DE" and payload["order"] >= 10)


def assert_conforms(expected: Expected, url: str, *, archive_alone: bool = False) -> None:
    """Check the archive at `url` and the results computed from it."""
    assert manifest() == expected.manifest
    assert {kind: everything(url, kind) for kind in KINDS} == expected.content
    assert {run.state for run in Run.objects.all()} == {Run.State.COMMITTED}
    if archive_alone:
        return
    assert rolled_up() == expected.buckets
    assert sent_by_hour() == expected.sent
    compared = Comparison.objects.get(failures=DIED)
    found = Finding.objects.filter(cause=compared.cause, queue_id=compared.queue_id)
    assert (compared.successes, Template.objects.get(failures=DIED).deaths) == (SHIPPED + SETTLED, DIED)
    assert (["payload", "country"], '"XX"', DIED, 0) in found.values_list(
        "path", "value", "failures_with", "successes_with"
    )
    plan = Plan.objects.latest("pk")
    staged = StagedMessage.objects.filter(staging_id=plan.staging_id).order_by("message_id")
    assert list(staged.values_list("message_id", flat=True)) == expected.staged
    assert plan.count == len(expected.staged) == SHIPPED - 10


def run(command: Sequence[str], variables: dict[str, str]) -> str:
    """Contents of the file at this path."""
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
