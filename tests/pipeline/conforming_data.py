"""Some of everything that an archive has, and what has to come of it, reckoned without any Spark.

Files by the same task in this process, buckets in plain Python.
"""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

import pyarrow as pa
import pytest

from pipeline.archive.files import Store
from pipeline.archive.kinds import KINDS
from pipeline.marts.rollups import COUNTS, QUANTILES
from pipeline.models import ArchiveFile, Rollup, Run, Sent
from tests.dlq.processes import PROJECT
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle

Bucket = tuple[int, int, datetime]


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


def assert_conforms(expected: Expected, url: str, *, rolled_up: bool = True) -> None:
    """What is archived at `url`, and what was made of it, is what was expected."""
    assert manifest() == expected.manifest
    assert {kind: everything(url, kind) for kind in KINDS} == expected.content
    assert {run.state for run in Run.objects.all()} == {Run.State.COMMITTED}
    if rolled_up:
        assert {
            (row.scope, row.seconds, row.bucket_at): {name: getattr(row, name) for name in expected_names()}
            for row in Rollup.objects.all()
        } == expected.buckets
        assert {(row.scope, row.bucket_at): row.messages for row in Sent.objects.all()} == dict(expected.sent)


def run(command: Sequence[str], variables: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=PROJECT, env=variables, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr[-4000:]


def manifest() -> list[tuple[Any, ...]]:
    """The manifest but for what names the run."""
    rows = ArchiveFile.objects.order_by("part", "day").values_list(
        "kind", "day", "part", "rows", "bytes", "first_at", "last_at"
    )
    return list(rows)


def everything(url: str, kind: str) -> pa.Table:
    files = ArchiveFile.objects.filter(kind=kind).order_by("part", "day").values_list("path", flat=True)
    return pa.concat_tables([KINDS[kind].schema.empty_table(), *[Store(url).read(path) for path in files]])


def expected_names() -> list[str]:
    shares = [f"{what}_p{round(share * 100)}_ms" for what in ("wait", "work") for share in QUANTILES]
    return [*COUNTS, "waits", "works", *shares]


def buckets(content: dict[str, pa.Table]) -> dict[Bucket, dict[str, Any]]:
    counted: dict[Bucket, Counter[str]] = defaultdict(Counter)
    times: dict[tuple[Bucket, str], list[int]] = defaultdict(list)
    for row in content["settled"].to_pylist():
        for place in places(row, row["settled_at"]):
            counted[place].update({row["outcome"]: 1, "delivered": row["receive_count"] or 0})
            if row["outcome"] == "acked":
                times[place, "work"].append(row["work_ms"])
                if row["receive_count"] == 1:
                    took = milliseconds(row["settled_at"]) - milliseconds(row["sent_at"]) - row["work_ms"]
                    times[place, "wait"].append(max(0, took))
    for kind, at, name in (("failures", "failed_at", "retried"), ("dead_letters", "died_at", "dead_lettered")):
        for row in content[kind].to_pylist():
            for place in places(row, row[at]):
                counted[place][name] += not row.get("died", False)
    return {
        place: {
            **{name: counts[name] for name in COUNTS},
            **{f"{what}s": len(times[place, what]) for what in ("wait", "work")},
            **{
                f"{what}_p{round(share * 100)}_ms": quantile(times[place, what], share)
                for what in ("wait", "work")
                for share in QUANTILES
            },
        }
        for place, counts in counted.items()
    }


def sent(content: dict[str, pa.Table]) -> Counter[tuple[int, datetime]]:
    rows = content["settled"].to_pylist()
    return Counter((scope, at) for row in rows for scope, seconds, at in places(row, row["sent_at"]) if seconds == 3600)


def places(row: dict[str, Any], at: datetime) -> list[Bucket]:
    hour = at.replace(minute=0, second=0, microsecond=0)
    scopes = (row["queue_id"], -row["tenant_id"], 0)
    return [
        (scope, seconds, when) for scope in scopes for seconds, when in ((3600, hour), (86_400, hour.replace(hour=0)))
    ]


def milliseconds(at: datetime) -> int:
    return int(at.timestamp()) * 1000 + at.microsecond // 1000


def quantile(values: list[int], share: float) -> int | None:
    """Of so few values a sketch knows each."""
    return sorted(values)[ceil(share * len(values)) - 1] if values else None
