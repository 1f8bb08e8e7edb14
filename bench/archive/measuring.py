"""Measures the pipeline: rows from live tables to Parquet, rollups of them, and what the live queue loses meanwhile."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from string import Template

from bench import pgbench
from bench.archive import processes
from bench.archive.results import Live, Moved, PipelineResults
from bench.comparison import Arena
from bench.measuring import Cost
from bench.scenarios import SIGNALBOX, SQL
from bench.server import MANAGE, ScratchServer

MILLIONS = (1.0, 4.0, 16.0)
MILLION = 1_000_000
BATCH = 1_000  # what is laid in one transaction
QUEUE = "archived"
LOAD_SECONDS = 30.0
LOAD_CLIENTS = 4
LOAD_STOCK = 2_000

FORGET = """
truncate signalbox.pipeline_file, signalbox.pipeline_run, signalbox.pipeline_rollup, signalbox.pipeline_sent cascade;
delete from signalbox.archive_horizon;
"""


def measure_pipeline(
    server: ScratchServer,
    arena: Arena,
    millions: Sequence[float],
    scale: float,
    rounds: int,
    progress: Callable[[str], None],
) -> PipelineResults:
    """Each size in turn, all ways in the same run; then the live queue with and without an archive run beside it."""
    bench = _Bench(server, arena, progress)
    bench.warm_up()
    for number in sorted(millions):
        bench.lay(max(BATCH, int(number * MILLION * scale)))
        for _ in range(rounds):
            bench.measure()
    live = [bench.load(beside, max(2.0, LOAD_SECONDS * scale)) for _ in range(rounds) for beside in (False, True)]
    return PipelineResults(bench.moved, live)


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
        self.connection.execute("select signalbox.create_queue(%s)", [QUEUE])

    @property
    def rows(self) -> int:
        row = self.connection.execute("select sum(cardinality(message_ids)) from signalbox.settled").fetchone()
        return int(row[0] or 0) if row else 0

    def lay(self, rows: int) -> None:
        """As many as are missing, and the statistics that autovacuum would bring some time later."""
        self.progress(f"laying up to {rows:,} settled messages")
        lay = Template((SQL / "archive" / "lay.sql").read_text())
        self.connection.execute("set synchronous_commit = off")
        self.connection.execute(lay.substitute(queue=QUEUE, messages=max(BATCH, rows - self.rows)))
        self.connection.execute("reset synchronous_commit")
        self.connection.execute("vacuum analyze signalbox.message, signalbox.settled")
        self.connection.execute("checkpoint")

    def warm_up(self) -> None:
        """The first Java writes down what the later ones begin from."""
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

    def load(self, beside: bool, seconds: float) -> Live:
        """Send one, claim one, acknowledge it, over and over, beside archive runs or alone."""
        self.progress(f"live queue {'beside archive runs' if beside else 'alone'}")
        self.arena.prepare(SIGNALBOX, LOAD_STOCK)
        with self._archiving() if beside else _nothing() as rows:
            script = SIGNALBOX.sql("steady")
            handled = pgbench.run_seconds(self.arena.url, script, LOAD_CLIENTS, max(1, int(seconds)))
        self.arena.empty(SIGNALBOX)
        return Live(beside, handled / max(1, int(seconds)), sum(rows))

    @contextmanager
    def _archiving(self) -> Iterator[list[int]]:
        """One run after the other, each of everything."""
        over, rows = threading.Event(), list[int]()

        def work() -> None:
            with self.server.connect() as connection:
                while not over.is_set():
                    connection.execute(FORGET)
                    with self._empty_folder():
                        rows.append(json.loads(self._pipeline("archive", "--to", str(self.folder)).printed)["rows"])
                connection.execute(FORGET)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield rows
        finally:
            over.set()
            thread.join()

    def _pipeline(self, *words: str) -> processes.Ended:
        return processes.run([sys.executable, str(MANAGE), "pipeline", *words, "--json"], self.environment)

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


@contextmanager
def _nothing() -> Iterator[list[int]]:
    yield []
