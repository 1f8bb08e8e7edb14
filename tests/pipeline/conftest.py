"""An archive of one's own for each test; afterwards the database knows of none, and no history waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from pipeline.archive import archiving
from pipeline.archive.archiving import Archived
from pipeline.archive.extracting import Job, Written, write_part
from pipeline.archive.files import Store
from pipeline.archive.parts import Part
from pipeline.archive.schemas import KINDS
from pipeline.errors import Busy
from pipeline.models import ArchiveFile
from tests.engine import Engine
from tests.pipeline.forks import Forks
from tests.pipeline.session import HERE
from tests.pipeline.session import pytest_runtest_teardown as pytest_runtest_teardown
from tests.pipeline.session import spark as spark
from tests.races.sessions import until

FORGET = """
truncate signalbox.pipeline_file, signalbox.pipeline_run, signalbox.pipeline_rollup, signalbox.pipeline_sent,
  signalbox.pipeline_template, signalbox.pipeline_comparison, signalbox.pipeline_finding
  restart identity;
delete from signalbox.archive_horizon;
update signalbox.stream_partition p
set archived_position = coalesce(pg_sequence_last_value(s.positions[p.partition + 1]), 0)
from signalbox.stream s
where s.stream_id = p.stream_id;
"""
BEGIN_NOW = """
insert into signalbox.archive_horizon (below, moved_at)
values (pg_snapshot_xmin(pg_current_snapshot())::text::bigint, clock_timestamp())
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order tests with Spark's session first, so that one process has all of them."""
    places = [place for place, item in enumerate(items) if str(item.path).startswith(f"{HERE}/")]
    ours = [items[place] for place in places]
    ours.sort(key=lambda item: "spark" not in getattr(item, "fixturenames", ()))
    for place, item in zip(places, ours, strict=True):
        items[place] = item


def in_this_process(job: Job, parts: Sequence[Part]) -> list[Written]:
    """Stand-in for Spark in one process."""
    return [file for part in parts for file in write_part(job, part)]


def settle(engine: Engine, count: int, **options: Any) -> list[int]:
    """Send messages and acknowledge them, in batches and singly; return their ids."""
    ids = [engine.send({"n": n}, **options) for n in range(count)]
    for batch in (7, 1, count):
        handles = [row[1] for row in engine.receive(batch)]
        if handles:
            engine.ack(*handles)
    return ids


def ship(engine: Engine, count: int, *, dies: bool, **payload: Any) -> None:
    """Messages that were shipped, or could not be."""
    for n in range(count):
        engine.send({"order": n, "card": {"number": "4111"}} | payload)
    for handle in [one[1] for one in engine.receive(count)]:
        if dies:
            engine.nack(handle, reason="rejected", error_class="NoCarrier", error=f"no carrier for {payload} {handle}")
        else:
            engine.ack(handle)


@dataclass
class Archive:
    """Archive in a folder, with the questions of a test."""

    url: str
    connection: psycopg.Connection[Any]

    def run(self, execute: archiving.Execute = in_this_process, **options: Any) -> Archived:
        """Archive all that has been committed by now."""
        self.until_over()
        return until(lambda: self._try(execute, options), "the end of the process that was archiving")

    def again(self) -> None:
        """Leave a run as if killed before its commit, with all of its files written."""
        self.connection.execute(
            """
            with last as (
              update signalbox.pipeline_run set state = 'running', finished_at = null
              where run_id = (select max(run_id) from signalbox.pipeline_run)
              returning run_id, low
            ), moved as (
              update signalbox.archive_horizon set below = (select low from last)
            )
            delete from signalbox.pipeline_file using last where pipeline_file.run_id = last.run_id
            """
        )

    def until_over(self) -> None:
        """Return when nothing is under way that began before: vacuum, for one, has a transaction open now and then."""
        last = self._value("select pg_current_xact_id()::text::bigint")
        until(
            lambda: self._value("select pg_snapshot_xmin(pg_current_snapshot())::text::bigint") > last,
            "the end of what was under way",
        )

    def _try(self, execute: archiving.Execute, options: dict[str, Any]) -> Archived | None:
        try:
            return archiving.archive(self.url, actor="tests", execute=execute, **options)
        except Busy:  # of a process that was killed the server may not know yet
            return None

    def read(self, kind: str, engine: Engine) -> list[dict[str, Any]]:
        """Rows of this queue in the manifest's files."""
        files = ArchiveFile.objects.filter(kind=kind).order_by("path").values_list("path", flat=True)
        tables = [Store(self.url).read(path) for path in files]
        rows = pa.concat_tables([KINDS[kind].schema.empty_table(), *tables]).to_pylist()
        return [row for row in rows if row.get("queue_id") == engine.queue_id]

    def ids(self, kind: str, engine: Engine) -> list[int]:
        return sorted(row["message_id"] for row in self.read(kind, engine))

    def files(self) -> list[str]:
        """All files in the folder."""
        return Store(self.url).paths()

    def named(self) -> list[str]:
        """All files in the manifest."""
        return sorted(ArchiveFile.objects.values_list("path", flat=True))

    def _value(self, statement: str) -> int:
        row = self.connection.execute(statement).fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture(scope="session")
def forks(dsn: str) -> Iterator[Forks]:
    """Start a process to be killed: it is ready at once."""
    with Forks(dsn) as forks:
        yield forks


@pytest.fixture
def archive(commits: None, connect: Callable[..., psycopg.Connection[Any]], tmp_path: Path) -> Iterator[Archive]:
    """An archive that begins now: what other tests have left behind is none of its business."""
    connection = connect()
    connection.execute(FORGET)
    connection.execute(BEGIN_NOW)
    yield Archive(str(tmp_path / "archive"), connection)
    connection.execute(FORGET)
