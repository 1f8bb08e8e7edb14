"""The nemesis: does to the company and its server what the schedule says, several things at once, and undoes it.

What it does is in the history as well: crashes explain what they undid, and recovery is timed from the end of a fault.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.chaos.company.client import TOKENS
from tests.chaos.company.company import Company, Place
from tests.chaos.faults.proxy import Proxy
from tests.chaos.faults.schedule import Fault
from tests.chaos.judging.history import FAILED, OK, Journal
from tests.chaos.server import ChaosServer

AT_ONCE = 6
OWN_TOKENS = 900_000 * TOKENS

Doing = Callable[["Nemesis", Fault], object]


@dataclass
class Nemesis:
    server: ChaosServer
    company: Company
    proxy: Proxy
    journal: Journal
    faults: dict[str, Doing]
    end_of_server: threading.Lock = field(default_factory=threading.Lock)
    """Crash or stop of the server, one at a time; other faults may run beside it."""
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tokens = itertools.count(OWN_TOKENS)
        self._room = threading.Semaphore(AT_ONCE)

    def work(self, schedule: Sequence[Fault]) -> None:
        """Every fault of the schedule in order, and then wait until all are over."""
        threads = []
        for fault in schedule:
            hold(fault.pause_seconds)
            self._room.acquire()
            thread = threading.Thread(target=self._do, args=(fault,), name=fault.kind)
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join()

    def token(self) -> int:
        return next(self._tokens)

    def victim(self, fault: Fault, kind: str) -> Place | None:
        """Pick one of the living processes."""
        alive = self.company.alive(kind)
        return alive[int(fault.pick * len(alive))] if alive else None

    def _do(self, fault: Fault) -> None:
        done: object = None
        number = self.journal.invoke("fault", number=fault.number, fault=fault.kind)
        try:
            done = self.faults[fault.kind](self, fault)
        except psycopg.OperationalError as error:  # it had begun, and another fault was stronger
            self.errors.append(f"{fault.kind} was cut short: {error}")
        except Exception as error:
            done = False
            self.errors.append(f"{fault.kind} did not take place: {type(error).__name__}: {error}")
        finally:
            self._room.release()
        self.journal.complete(number, FAILED if done is False else OK)


def hold(seconds: float) -> None:
    """Duration of a fault in seconds."""
    time.sleep(seconds)


def crash(nemesis: Nemesis, end: Callable[[], Any]) -> None:
    """End the server, and note from when to when, since a claim that asked for no durability may be undone."""
    with nemesis.end_of_server:
        number = nemesis.journal.invoke("crash")
        try:
            end()
        finally:
            nemesis.journal.complete(number, OK)
