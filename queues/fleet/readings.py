"""Readings of all cells at the same time, each within a second or two: what pages and commands show of the fleet.

A cell that does not answer in time is silent; what it answered last is kept in this process, with its age. A reading
costs each cell its own counters, which grow with queues and not with messages, and is shared for a moment.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

import psycopg

from queues.database.query import query_text
from queues.errors import SignalboxError
from queues.fleet.cells import connected
from queues.fleet.directory import Cell, cells
from signalbox.connections.unavailable import Unavailable

FRESH_SECONDS = 2.0
ANSWER_SECONDS = 2.0
"""The longest time that a reading takes, however many cells are silent."""
STATEMENT_MILLISECONDS = 1_500
MAX_AT_ONCE = 16


@dataclass(frozen=True)
class Server:
    """The server of a cell."""

    epoch: int | None
    standbys: int
    lag_bytes: int | None
    """The log that the last standby has not replayed; None without a standby."""


@dataclass(frozen=True)
class Load:
    """The messages of a cell by state, and its traffic over the last ten seconds."""

    ready: int
    scheduled: int
    waiting: int
    leased: int
    dead: int
    sends_per_second: float
    receives_per_second: float


@dataclass(frozen=True)
class QueueInCell:
    """The messages of a placed queue in one cell, and its traffic over the last ten seconds."""

    queue: str
    waiting: int
    """Messages that are ready, scheduled, or wait for their group."""
    in_flight: int
    dead: int
    sends_per_second: float
    receives_per_second: float


@dataclass(frozen=True)
class Answer:
    """Answer of a cell: its server, its load, and its part of each placed queue."""

    version: int
    """The version of its copy of the directory."""
    server: Server
    load: Load
    queues: Sequence[QueueInCell]


@dataclass(frozen=True)
class Reading:
    """One cell as it was read last; a silent one keeps its last answer."""

    cell: Cell
    answer: Answer | None = None
    answered_at: float | None = None
    """The time of the answer, on this process's monotonic clock."""
    error: str = ""
    """Why the cell is silent; empty while it answers."""

    @property
    def state(self) -> str:
        """One word for lists: answers or silent."""
        return "silent" if self.error else "answers"

    @property
    def is_silent(self) -> bool:
        return bool(self.error)

    @property
    def age_seconds(self) -> float | None:
        """The age of what is known; None while nothing is."""
        return None if self.answered_at is None else time.monotonic() - self.answered_at

    @property
    def by_queue(self) -> Mapping[str, QueueInCell]:
        return {one.queue: one for one in self.answer.queues} if self.answer else {}


_lock = threading.Lock()
_latest: tuple[float, list[Reading]] | None = None


def read_fleet() -> list[Reading]:
    """Read all cells at the same time, at most FRESH_SECONDS ago; ends within ANSWER_SECONDS."""
    global _latest
    with _lock:
        if _latest is None or time.monotonic() - _latest[0] > FRESH_SECONDS:
            _latest = (time.monotonic(), _read(cells(), _latest[1] if _latest else ()))
        return _latest[1]


def forget() -> None:
    """Drop what is known, so that the next reading asks every cell."""
    global _latest
    with _lock:
        _latest = None


def _read(known: Sequence[Cell], before: Sequence[Reading]) -> list[Reading]:
    """Ask every cell in a thread of its own. Threads of silent cells end by the bounds of their connections."""
    pool = ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="fleet")
    asked = {cell.name: pool.submit(ask, cell) for cell in known}
    wait(asked.values(), ANSWER_SECONDS)
    pool.shutdown(wait=False, cancel_futures=True)
    last = {reading.cell.name: reading for reading in before}
    return [_reading(cell, asked[cell.name], last.get(cell.name)) for cell in known]


def _reading(cell: Cell, asked: Future[Answer], last: Reading | None) -> Reading:
    kept = replace(last, cell=cell) if last else Reading(cell)
    if not asked.done() or asked.cancelled():
        return replace(kept, error=f"no answer within {ANSWER_SECONDS:g} s")
    error = asked.exception()
    if error is None:
        return Reading(cell, asked.result(), time.monotonic())
    if not isinstance(error, (psycopg.Error, Unavailable, SignalboxError)):
        raise error
    return replace(kept, error=str(error).strip().partition("\n")[0] or type(error).__name__)


def ask(cell: Cell) -> Answer:
    """Ask one cell for everything; raises errors of the cell."""
    with connected(cell) as connection:
        connection.execute(f"set statement_timeout = {STATEMENT_MILLISECONDS}".encode())
        known = connection.execute(query_text("fleet/directory").encode()).fetchone()
        if known is None or known[0] != cell.name:
            raise SignalboxError("its address leads to another database")
        [server] = connection.execute(query_text("fleet/server").encode()).fetchall()
        [load] = connection.execute(query_text("fleet/load").encode()).fetchall()
        queues = connection.execute(query_text("fleet/held").encode()).fetchall()
    return Answer(known[2], Server(*server), Load(*load), [QueueInCell(*row) for row in queues])
