"""Measure a redrive: the rate at which dead letters are sent while its page is open, and the time to a plan."""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass

import psycopg

from bench.comparison import Arena
from bench.scenarios import SIGNALBOX
from bench.server import MANAGE
from bench.tables import table_line

MESSAGES = 200_000
# Seconds between the requests of an open progress page.
LOOK_SECONDS = 1.0
TITLE = "A redrive without a limit, from `manage.py redrive run --wait`, with its page open"
HEADINGS = ("", "messages/s", "server CPU us", "WAL bytes", "plan ms", "looks")
WIDTHS = (24, 11, 14, 10, 8, 6)


@dataclass(frozen=True)
class RedriveSample:
    """One measurement; costs are for one message."""

    messages: int
    messages_per_second: float
    server_cpu_us: float
    wal_bytes: float
    plan_ms: float
    looks: int

    @classmethod
    def median(cls, samples: "list[RedriveSample]") -> "RedriveSample":
        columns = zip(*(astuple(sample) for sample in samples), strict=True)
        return cls(*map(statistics.median, columns))


def measure_redrives(arena: Arena, scale: float, rounds: int, progress: Callable[[str], None]) -> list[RedriveSample]:
    """Plan and redrive equal numbers of dead letters each round, to the queue in which they failed."""
    messages = max(1_000, int(MESSAGES * scale))
    samples = []
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}: redrive of {messages:,}")
        arena.prepare(SIGNALBOX, 0)
        arena.connection.execute(SIGNALBOX.sql("dead_letter", messages=messages))
        arena.connection.execute("vacuum analyze signalbox.dead_letter")
        arena.connection.execute("checkpoint")
        samples.append(_measure(arena, messages))
        arena.empty(SIGNALBOX)
    return samples


def _measure(arena: Arena, messages: int) -> RedriveSample:
    plan = _redrive(arena.url, "plan", f"queue:{SIGNALBOX.queue}", "--canary", "0")
    with arena.meter.measure() as cost, _page(arena.url, plan["id"]) as looks:
        job = _redrive(arena.url, "run", str(plan["id"]), "--wait")
    if job["moved"] != messages:
        raise RuntimeError(f"the redrive moved {job['moved']} of {messages}")
    seconds, plan_ms = arena.connection.execute(_TIMES, [job["id"]]).fetchone()
    return RedriveSample(
        messages,
        messages / float(seconds),
        cost.cpu_seconds / messages * 1e6,
        cost.wal_bytes / messages,
        float(plan_ms),
        len(looks),
    )


# The times in a plan's row are those of its preview and of the transaction that wrote it.
_TIMES = """
select extract(epoch from r.finished_at - r.started_at), extract(epoch from p.created_at - p.as_of) * 1000
from signalbox.redrive r join signalbox.plan p using (plan_id)
where r.redrive_id = %s
"""


def _redrive(url: str, *words: str) -> dict:
    environment = {**os.environ, "DATABASE_URL": url, "HTTPS_ONLY": "false"}
    command = [sys.executable, str(MANAGE), "redrive", *words, "--json"]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True)
    if answer.returncode:
        raise RuntimeError(answer.stderr)
    return json.loads(answer.stdout)


@contextmanager
def _page(url: str, plan_id: int) -> Iterator[list[float]]:
    """Run the queries of a running redrive's page: its row, and the outcomes of the next thousand messages."""
    stop, looks = threading.Event(), []

    def look() -> None:
        with psycopg.connect(url) as connection:
            while not stop.wait(LOOK_SECONDS):
                began = time.monotonic()
                row = connection.execute(
                    "select redrive_id from signalbox.redrive where plan_id = %s for update skip locked", [plan_id]
                ).fetchone()
                if row:
                    connection.execute("select * from signalbox.settle_redriven(%s)", row)
                connection.commit()
                looks.append(time.monotonic() - began)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield looks
    finally:
        stop.set()
        thread.join()


def redrive_lines(samples: list[RedriveSample]) -> Iterator[str]:
    """Table of medians for people."""
    sample = RedriveSample.median(samples)
    yield TITLE
    yield table_line(HEADINGS, WIDTHS)
    yield table_line(
        (
            f"redrive of {sample.messages:,.0f}",
            f"{sample.messages_per_second:,.0f}",
            f"{sample.server_cpu_us:,.1f}",
            f"{sample.wal_bytes:,.0f}",
            f"{sample.plan_ms:,.0f}",
            f"{sample.looks:,.0f}",
        ),
        WIDTHS,
    )


def redrive_measurements(samples: list[RedriveSample]) -> Iterator[dict[str, object]]:
    """Results of every single round."""
    yield from (asdict(sample) for sample in samples)
