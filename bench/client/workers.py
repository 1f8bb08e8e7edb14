"""Measure the real worker with a handler that does nothing: claims and acks one at a time, prefetched, batched."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass

import psutil

from bench.comparison import Arena
from bench.scenarios import SIGNALBOX

MESSAGES = 10_000
LEAST_MESSAGES = 1_000
WARM_UP_MESSAGES = 1_000
LOOK_SECONDS = 0.02
PATIENCE_SECONDS = 600.0
STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Habit:
    """Options of the worker's command line that are compared."""

    name: str
    options: tuple[str, ...]


#: Reference of the comparison: the first habit.
HABITS = (
    Habit("one claim, one ack", ("--prefetch=0", "--ack-delay=0", "--ack-batch=1")),
    Habit("claims ahead, one ack", ("--prefetch=100", "--ack-delay=0", "--ack-batch=1")),
    Habit("claims ahead, acks gathered", ("--prefetch=100",)),
)


@dataclass(frozen=True)
class WorkerSample:
    """One measurement; costs are for one message."""

    messages_per_second: float
    worker_cpu_us: float
    server_cpu_us: float
    wal_bytes: float
    messages_per_ack: float

    @classmethod
    def median(cls, samples: "list[WorkerSample]") -> "WorkerSample":
        columns = zip(*(astuple(sample) for sample in samples), strict=True)
        return cls(*map(statistics.median, columns))


WorkerResults = dict[Habit, list[WorkerSample]]


def measure_workers(arena: Arena, messages: int, rounds: int, progress: Callable[[str], None]) -> WorkerResults:
    """Drain equal numbers of messages with every habit, `rounds` times; each round starts with another one."""
    results: WorkerResults = {habit: [] for habit in HABITS}
    for number in range(rounds):
        for place in range(len(HABITS)):
            habit = HABITS[(number + place) % len(HABITS)]
            progress(f"round {number + 1} of {rounds}: worker, {habit.name}")
            with _working(arena, habit, messages) as process:
                results[habit].append(_measure(arena, process, messages))
    return results


@contextmanager
def _working(arena: Arena, habit: Habit, messages: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker, let it handle some messages first, and pause its queue."""
    _configure(arena, paused=False)
    arena.prepare(SIGNALBOX, min(messages, WARM_UP_MESSAGES))
    command = [
        sys.executable,
        "-m",
        "signalbox.worker",
        "bench",
        "bench.client.handlers:nothing",
        "--poll-interval=0.05",
    ]
    process = subprocess.Popen(
        [*command, "--log-level=ERROR", *habit.options], env={**os.environ, "DATABASE_URL": arena.url}
    )
    try:
        _wait_until_drained(arena, process)
        _configure(arena, paused=True)
        yield process
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _measure(arena: Arena, process: subprocess.Popen[bytes], messages: int) -> WorkerSample:
    """Measure from the end of the pause to the last ack, with the resources used in that time."""
    arena.prepare(SIGNALBOX, messages)
    stock, ack_calls, worker_cpu_seconds = arena.waiting(SIGNALBOX), _ack_calls(arena), _cpu_seconds(process)
    with arena.meter.measure() as cost:
        _configure(arena, paused=False)
        started = time.monotonic()
        _wait_until_drained(arena, process)
        seconds = time.monotonic() - started
        arena.connection.execute(SIGNALBOX.sql("catch_up"))
    return WorkerSample(
        messages_per_second=stock / seconds,
        worker_cpu_us=(_cpu_seconds(process) - worker_cpu_seconds) / stock * 1e6,
        server_cpu_us=cost.cpu_seconds / stock * 1e6,
        wal_bytes=cost.wal_bytes / stock,
        messages_per_ack=stock / (_ack_calls(arena) - ack_calls),
    )


def _configure(arena: Arena, *, paused: bool) -> None:
    arena.connection.execute("select signalbox.configure_queue('bench', jsonb_build_object('paused', %s))", [paused])


def _wait_until_drained(arena: Arena, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while arena.waiting(SIGNALBOX):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the worker did not drain its queue; its exit status is {process.returncode}")
        time.sleep(LOOK_SECONDS)


def _cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """CPU time of the worker and its children; no child starts or ends while the handler returns."""
    worker = psutil.Process(process.pid)
    return sum(sum(each.cpu_times()[:2]) for each in (worker, *worker.children(recursive=True)))


def _ack_calls(arena: Arena) -> int:
    row = arena.connection.execute("select count(*) from signalbox.settled where outcome = 'a'").fetchone()
    return int(row[0]) if row else 0
