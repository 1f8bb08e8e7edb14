"""Measure the pipeline: rows from tables to Parquet, rollups, and the cost to the live queue."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from string import Template

from bench import pgbench
from bench.archive import processes
from bench.archive.results import Live, Moved, PipelineResults
from bench.comparison import Arena
from bench.measuring import Cost
from bench.scenarios import SIGNALBOX, SQL
from bench.server import MANAGE, ScratchServer
from pipeline.archive.yielding import APPLICATION
from pipeline.spark.class_sharing import SharedClasses

MILLIONS = (1.0, 4.0, 16.0)
MILLION = 1_000_000
BATCH = 1_000  # rows in one transaction
QUEUE = "archived"
START_WINDOWS, READ_WINDOWS = (5, 20), (30, 8)
"""Seconds and pairs for each round, while a session starts and while rows are read. Both windows of a pair share the
other load of the machine. A reading run rests for seconds at a time, and its rests also pass while it is paused: a
window that is hardly longer than a rest begins with work and overstates the work.
"""
LOAD_CLIENTS = 4
LOAD_STOCK = 2_000

FORGET = """
truncate signalbox.pipeline_file, signalbox.pipeline_run, signalbox.pipeline_rollup, signalbox.pipeline_sent cascade;
delete from signalbox.archive_horizon;
"""
EARLIER = "truncate signalbox.settled, signalbox.dead_letter cascade"
"""What other sections of the benchmark leave would be archived too."""


def measure_pipeline(
    server: ScratchServer,
    arena: Arena,
    millions: Sequence[float],
    scale: float,
    rounds: int,
    progress: Callable[[str], None],
) -> PipelineResults:
    """Measure each size in all ways, then the live queue with and without an archive run."""
    bench = _Bench(server, arena, progress)
    bench.warm_up()
    for number in sorted(millions):
        bench.lay(max(BATCH, int(number * MILLION * scale)))
        for _ in range(rounds):
            bench.measure()
    windows = [
        (max(1, int(seconds * scale)), max(2, int(n * rounds * scale))) for seconds, n in (START_WINDOWS, READ_WINDOWS)
    ]
    return PipelineResults(bench.moved, list(bench.load(*windows)))


class _Bench:
    def __init__(self, server: ScratchServer, arena: Arena, progress: Callable[[str], None]) -> None:
        self.server, self.arena, self.progress = server, arena, progress
        self.connection = arena.connection
        self.folder = server.home / "archive-bench"
        self.environment = {
            "SPARK_CLASSES": str(server.home / "spark"), **os.environ,
            "SIGNALBOX_HOME": str(server.home), "DATABASE_URL": server.url, "HTTPS_ONLY": "false",
        }  # fmt: skip
        self.moved: list[Moved] = []
        self.connection.execute(EARLIER)
        self.connection.execute("select signalbox.create_queue(%s)", [QUEUE])

    @property
    def rows(self) -> int:
        row = self.connection.execute("select sum(cardinality(message_ids)) from signalbox.settled").fetchone()
        return int(row[0] or 0) if row else 0

    def lay(self, rows: int) -> None:
        """Add the missing rows, and the statistics that autovacuum would collect later."""
        self.progress(f"laying up to {rows:,} settled messages")
        lay = Template((SQL / "archive" / "lay.sql").read_text())
        self.connection.execute("set synchronous_commit = off")
        self.connection.execute(lay.substitute(queue=QUEUE, messages=max(BATCH, rows - self.rows)))
        self.connection.execute("reset synchronous_commit")
        self.connection.execute("vacuum analyze signalbox.message, signalbox.settled")
        self.connection.execute("checkpoint")

    def warm_up(self) -> None:
        """Let the first Java process write the class archive that later ones start from, if there is none."""
        if SharedClasses(Path(self.environment["SPARK_CLASSES"])).file.exists():
            return
        with self._empty_folder():
            processes.run(self._plain("start"), self.environment)

    def measure(self) -> None:
        rows = self.rows
        self.progress(f"measuring {rows:,}")
        self._by_hand("start", "start", 0, "a Spark session alone")
        for way, name in (("adbc", "ADBC + pyarrow"), ("duckdb", "COPY + DuckDB")):
            if _there(way):
                self._by_hand("archive", way, rows, name)
        self.connection.execute(FORGET)
        with self._empty_folder():
            with self.arena.meter.measure() as cost:
                done = self._pipeline("archive", "--to", str(self.folder))
            self._note("archive", "Signalbox", done, cost, json.loads(done.printed)["rows"])
            with self.arena.meter.measure() as cost:
                done = self._pipeline("rollup")
            self._note("rollup", "Signalbox", done, cost, rows)
            if _there("duckdb"):
                self._by_hand("rollup", "rollup", rows, "DuckDB")
        self.connection.execute(FORGET)

    def load(self, start: tuple[int, int], read: tuple[int, int]) -> Iterator[Live]:
        """Send, claim and acknowledge one message at a time, while an archive run is paused and while it works.

        `start` and `read` are the seconds of a window and the number of window pairs, while a session starts and while
        rows are read; an earlier end of the run ends them.
        """
        self.progress("live queue alone and beside an archive run")
        self.arena.prepare(SIGNALBOX, LOAD_STOCK)
        self.connection.execute(FORGET)
        command = self._command("archive", "--to", str(self.folder))
        with self._empty_folder(), processes.standing_still(command, self.environment) as archive:
            yield from itertools.takewhile(lambda pair: not pair.reads, self._pairs(archive, *start))
            with archive.going_on():
                while not self._is_being_read() and not archive.is_over():
                    time.sleep(processes.LOOK_SECONDS)
            yield from self._pairs(archive, *read)
        self.connection.execute(FORGET)
        self.arena.empty(SIGNALBOX)

    def _pairs(self, archive: processes.Held, seconds: int, pairs: int) -> Iterator[Live]:
        script = SIGNALBOX.sql("steady")
        for _ in range(pairs):
            alone = pgbench.run_seconds(self.arena.url, script, LOAD_CLIENTS, seconds)
            reads = self._is_being_read()
            with archive.going_on():
                beside = pgbench.run_seconds(self.arena.url, script, LOAD_CLIENTS, seconds)
            yield Live(reads, alone / seconds, beside / seconds)
            if archive.is_over():
                break

    def _is_being_read(self) -> bool:
        row = self.connection.execute(
            "select exists (select from pg_stat_activity where starts_with(application_name, %s))", [APPLICATION]
        ).fetchone()
        return row == (True,)

    def _pipeline(self, *words: str) -> processes.Ended:
        return processes.run(self._command(*words), self.environment)

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, str(MANAGE), "pipeline", *words, "--json"]

    def _by_hand(self, work: str, way: str, rows: int, name: str) -> None:
        with self._empty_folder(keep=work == "rollup"):
            with self.arena.meter.measure() as cost:
                done = processes.run(self._plain(way), self.environment)
            self._note(work, name, done, cost, rows)

    def _plain(self, way: str) -> list[str]:
        return [sys.executable, "-m", "bench.archive.plain", way, self.server.url, str(self.folder)]

    def _note(self, work: str, name: str, done: processes.Ended, server: Cost, rows: int) -> None:
        cpu_seconds = done.cpu_seconds + server.cpu_seconds
        self.progress(f"{work}: {name}, {rows:,} rows, {done.seconds:.1f} s, {cpu_seconds:.1f} s of CPU")
        self.moved.append(Moved(work, name, rows, done.seconds, cpu_seconds, done.peak_mb))

    @contextmanager
    def _empty_folder(self, keep: bool = False) -> Iterator[None]:
        self.folder.mkdir(exist_ok=True)
        yield
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def _there(way: str) -> bool:
    return way != "duckdb" or importlib.util.find_spec("duckdb") is not None
