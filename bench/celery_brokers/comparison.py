"""Measure one-process workers that drain equal tasks from each broker, with prefetch 1 and 10."""

import json
import os
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from bench.comparison import Arena
from bench.peers.installing import CannotInstall
from bench.pgmq import sql as pgmq_sql
from bench.tables import ratio, table_line

TASKS = 3_000
WARM_UP_TASKS = 20
#: Time limit of a measurement; a slower broker counts with the work done by then.
MOST_SECONDS = 15.0
START_SECONDS = 120.0
LOOK_SECONDS = 0.005
REQUIREMENTS = ("sqlalchemy==2.0.44", "pgmq==1.1.4")
PROJECT = Path(__file__).resolve().parents[2]
HEADINGS = ("prefetch, acks", "broker", "tasks/s", "x sqla", "worker CPU us", "server CPU us", "sends/s")
WIDTHS = (18, 22, 10, 8, 14, 14, 10)


@dataclass(frozen=True)
class Broker:
    """Broker to compare, with the URL that an application uses."""

    name: str
    scheme: str

    def url(self, address: str) -> str:
        return "pgmq://" if self is PGMQ else self.scheme + address.partition("://")[2]

    def options(self, address: str) -> dict[str, Any]:
        if self is PGMQ:
            words = make_conninfo(address, password="none")  # the transport reads no socket folder in a URL
            return {"conn_string": words, "init_extension": False, "pool_size": 2}
        return {}


SIGNALBOX = Broker("signalbox", "signalbox://")
SQLA = Broker("sqla (SQLAlchemy 2.0)", "sqla+postgresql+psycopg://")
PGMQ = Broker("pgmq 1.1.4", "pgmq://")
BROKERS = (SQLA, PGMQ, SIGNALBOX)


@dataclass(frozen=True)
class Habit:
    """Options of a worker: its prefetch, and early or late acks."""

    prefetch: int
    acks_late: bool

    @property
    def name(self) -> str:
        return f"{self.prefetch}, {'late' if self.acks_late else 'early'}"


HABITS = (Habit(1, acks_late=False), Habit(1, acks_late=True), Habit(10, acks_late=False), Habit(10, acks_late=True))


@dataclass(frozen=True)
class BrokerSample:
    """One measurement; costs are for one task."""

    tasks_per_second: float
    worker_cpu_us: float
    server_cpu_us: float
    sends_per_second: float

    @classmethod
    def median(cls, samples: "list[BrokerSample]") -> "BrokerSample":
        return cls(*map(statistics.median, zip(*(astuple(sample) for sample in samples), strict=True)))


BrokerResults = dict[tuple[Habit, Broker], list[BrokerSample]]


def measure_brokers(arena: Arena, scale: float, rounds: int, progress: Callable[[str], None]) -> BrokerResults:
    """Measure every broker with every habit, `rounds` times; each round starts with another one."""
    results: BrokerResults = {(habit, broker): [] for habit in HABITS for broker in BROKERS}
    tasks = max(10 * WARM_UP_TASKS, int(TASKS * scale))
    with _installed(progress) as home:
        for number in range(rounds):
            for habit in HABITS:
                for place in range(len(BROKERS)):
                    broker = BROKERS[(number + place) % len(BROKERS)]
                    progress(f"round {number + 1} of {rounds}: Celery, prefetch {habit.name}, {broker.name}")
                    with _database(arena, broker) as address:
                        results[habit, broker].append(_measure(arena, home, broker, habit, address, tasks))
    return results


@contextmanager
def _installed(progress: Callable[[str], None]) -> Iterator[Path]:
    """Make a folder with the libraries of the other brokers."""
    with TemporaryDirectory(prefix="signalbox-brokers-") as folder:
        progress("installing the other brokers")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, *REQUIREMENTS]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode:
            raise CannotInstall(process.stderr)
        yield Path(folder)


@contextmanager
def _database(arena: Arena, broker: Broker) -> Iterator[str]:
    """Return the database of a broker: Signalbox uses its installation, the others an empty database."""
    if broker is SIGNALBOX:
        yield arena.url
        return
    arena.connection.execute("create database broker")
    path, _, query = arena.url.partition("?")
    address = f"{path.rpartition('/')[0]}/broker?{query}"
    try:
        if broker is PGMQ:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(pgmq_sql())
        yield address
    finally:
        arena.connection.execute("drop database broker (force)")


def _measure(arena: Arena, home: Path, broker: Broker, habit: Habit, address: str, tasks: int) -> BrokerSample:
    counter = home / "count"
    counter.write_bytes(bytes(8))
    given = {
        "broker": broker.url(address),
        "options": broker.options(address),
        "acks_late": habit.acks_late,
        "count": str(counter),
    }
    path = os.pathsep.join([str(PROJECT), str(home)])
    environment = {**os.environ, "BENCH_CELERY": json.dumps(given), "PYTHONPATH": path}
    sends_per_second = _send(environment, tasks)
    with _worker(environment, habit) as worker:
        _wait_for(counter, WARM_UP_TASKS, worker, START_SECONDS)
        before, cpu = _count(counter), _cpu_seconds(worker)
        with arena.meter.measure() as cost:
            started = time.monotonic()
            _wait_for(counter, tasks, worker, MOST_SECONDS)
            seconds = time.monotonic() - started
        done, used = _count(counter) - before, _cpu_seconds(worker) - cpu
    _forget_rest(arena, broker)
    return BrokerSample(done / seconds, used / done * 1e6, cost.cpu_seconds / done * 1e6, sends_per_second)


def _send(environment: dict[str, str], tasks: int) -> float:
    """Send from one process over one connection; return messages per second."""
    sending = (
        "import time; from bench.celery_brokers.jobs import app, nothing\n"
        "with app.producer_pool.acquire(block=True) as producer:\n"
        "    nothing.apply_async((0,), producer=producer)\n"
        "    began = time.monotonic()\n"
        f"    for number in range({tasks - 1}):\n"
        "        nothing.apply_async((number,), producer=producer)\n"
        f"    print({tasks - 1} / (time.monotonic() - began))\n"
    )
    command = [sys.executable, "-c", sending]
    process = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(f"could not send:\n{process.stderr}")
    return float(process.stdout)


@contextmanager
def _worker(environment: dict[str, str], habit: Habit) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "celery", "-A", "bench.celery_brokers.jobs", "worker", "--loglevel=ERROR"]
    options = ["--concurrency=1", f"--prefetch-multiplier={habit.prefetch}", "--hostname=bench@here"]
    process = subprocess.Popen(
        [*command, *options], env=environment, cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        for each in (process, *children):
            each.kill()
        process.wait()


def _wait_for(counter: Path, tasks: int, worker: subprocess.Popen[bytes], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while _count(counter) < tasks and time.monotonic() < deadline:
        if worker.poll() is not None:
            raise RuntimeError(f"the worker ended with {worker.returncode}")
        time.sleep(LOOK_SECONDS)


def _count(counter: Path) -> int:
    return int(struct.unpack("q", counter.read_bytes())[0])


def _cpu_seconds(worker: subprocess.Popen[bytes]) -> float:
    process = psutil.Process(worker.pid)
    return sum(sum(each.cpu_times()[:2]) for each in (process, *process.children(recursive=True)))


def _forget_rest(arena: Arena, broker: Broker) -> None:
    """Remove the messages that a killed worker left, so that the next worker does not receive them."""
    if broker is SIGNALBOX:
        states = "array['ready', 'leased', 'scheduled']"
        while arena.connection.execute(f"select signalbox.purge('celery', null, {states})").fetchone() != (0,):
            pass


def broker_lines(results: BrokerResults) -> Iterator[str]:
    """Table of the results for people."""
    yield "Celery: workers of one process drain tasks that do nothing; one process sends them"
    yield table_line(HEADINGS, WIDTHS, names=2)
    for habit in HABITS:
        base = BrokerSample.median(results[habit, SQLA])
        for broker in BROKERS:
            sample = BrokerSample.median(results[habit, broker])
            yield table_line(
                (
                    habit.name if broker is BROKERS[0] else "",
                    broker.name,
                    f"{sample.tasks_per_second:,.0f}",
                    ratio(sample.tasks_per_second, base.tasks_per_second),
                    f"{sample.worker_cpu_us:,.0f}",
                    f"{sample.server_cpu_us:,.0f}",
                    f"{sample.sends_per_second:,.0f}",
                ),
                WIDTHS,
                names=2,
            )


def broker_measurements(results: BrokerResults) -> Iterator[dict[str, Any]]:
    """Every sample, as rows for programs."""
    for (habit, broker), samples in results.items():
        for sample in samples:
            yield {"prefetch": habit.prefetch, "acks_late": habit.acks_late, "broker": broker.name, **vars(sample)}
