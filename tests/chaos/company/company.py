"""The processes of a run: clients forked from one parent, the product's own worker and upkeep. Who dies is replaced.

A replacement is a new client: an incarnation with a number and a journal of its own.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.company.client import Assignment
from tests.chaos.company.roles import Part, take_part
from tests.chaos.server import PATIENCE_SECONDS, PROJECT, ChaosServer

WATCH_SECONDS = 0.1
CELERY = [sys.executable, "-m", "celery", "-A", "tests.chaos.company.celery_app"]
#: A program that dies is started again after this many seconds: Django takes its time, and the machine has other work.
RESTART_SECONDS = 0.5


@dataclass(eq=False)
class Place:
    """Place in the company, held by one process at a time."""

    name: str
    begin: Callable[[], Any]
    kind: str
    part: Part | None = None
    process: Any = None
    wanted: bool = True
    stopped: bool = False
    """By SIGSTOP."""

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process is not None else None

    def is_alive(self) -> bool:
        if self.process is None:
            return False
        alive = self.process.is_alive() if self.part else self.process.poll() is None
        return bool(alive)

    def signal(self, number: signal.Signals) -> None:
        if self.is_alive() and self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


@dataclass
class Company:
    server: ChaosServer
    folder: Path
    seed: int
    port: int
    places: list[Place] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._ending = threading.Event()
        self._forks = multiprocessing.get_context("forkserver")
        self._forks.set_forkserver_preload(["tests.chaos.company.roles"])
        self._watcher = threading.Thread(target=self._watch, name="company", daemon=True)

    def gather(self, parts: Sequence[Part], upkeeps: int = 2, workers: int = 1, *, celery: bool = True) -> None:
        for part in parts:
            self.places.append(Place(f"{part.role} of {part.queue}", self._forking(part), "client", part))
        for _ in range(upkeeps):
            self.places.append(Place("upkeep", self._starting(self.server.manage("upkeep")), "upkeep"))
        for _ in range(workers):
            self.places.append(Place("worker", self._starting(self._worker()), "worker"))
        if celery:
            self.places.append(Place("celery worker", self._starting(self._celery_worker()), "celery worker"))
            self.places.append(Place("celery beat", self._starting(self._beat()), "beat"))
        for place in self.places:
            place.process = place.begin()
        self._watcher.start()

    def alive(self, kind: str) -> list[Place]:
        return [place for place in self.places if place.kind == kind and place.wanted and place.is_alive()]

    def dismiss(self, unwanted: Callable[[Place], bool]) -> None:
        """End these processes by a signal, or finally by force; their places stay empty."""
        chosen = [place for place in self.places if unwanted(place)]
        for place in chosen:
            place.wanted = False
        deadline = time.monotonic() + PATIENCE_SECONDS
        for place in chosen:
            place.signal(signal.SIGCONT)
            place.signal(signal.SIGTERM)
        while any(place.is_alive() for place in chosen) and time.monotonic() < deadline:
            time.sleep(0.05)
        for place in chosen:
            place.signal(signal.SIGKILL)  # how politely they end is tested elsewhere

    def disband(self) -> None:
        """Kill all processes that are left."""
        self._ending.set()
        if self._watcher.is_alive():
            self._watcher.join()
        for place in self.places:
            place.wanted = False
            if place.part is None and place.pid:
                with suppress(ProcessLookupError):  # with whatever it has forked
                    os.killpg(place.pid, signal.SIGKILL)
            place.signal(signal.SIGKILL)
            if place.process is not None:
                place.process.join() if place.part else place.process.wait()

    def _watch(self) -> None:
        while not self._ending.wait(WATCH_SECONDS):
            for place in self.places:
                if place.wanted and not place.is_alive():
                    if place.part is None:
                        self._ending.wait(RESTART_SECONDS)
                    if place.wanted and not self._ending.is_set():
                        place.stopped = False
                        place.process = place.begin()

    def _forking(self, part: Part) -> Callable[[], Any]:
        def begin() -> Any:
            process = self._forks.Process(target=take_part, args=(self._assignment(part),), daemon=True)
            process.start()
            return process

        return begin

    def _assignment(self, part: Part) -> Assignment:
        return Assignment(
            part.role,
            part.queue,
            next(self._numbers),
            self.seed,
            self.dsn(part.through_proxy),
            self.folder,
            part.options,
        )

    def dsn(self, through_proxy: bool) -> str:
        if not through_proxy:
            return self.server.url
        return f"host=127.0.0.1 port={self.port} user=signalbox dbname=signalbox sslmode=disable gssencmode=disable"

    def _starting(self, command: list[str]) -> Callable[[], Any]:
        def begin() -> Any:
            return subprocess.Popen(
                command,
                cwd=PROJECT,
                env=self.server.environment(CHAOS_HISTORY=str(self.folder), CHAOS_DSN=self.server.url),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                stdout=subprocess.DEVNULL,
                stderr=(self.folder / "programs.log").open("ab"),
            )

        return begin

    def _celery_worker(self) -> list[str]:
        options = ["--concurrency=2", "--without-gossip", "--without-mingle", "--loglevel=WARNING"]
        return [*CELERY, "worker", "-n", "chaos@here", *options]

    def _beat(self) -> list[str]:
        return [*CELERY, "beat", "--pidfile=", f"--schedule={self.folder / 'beat'}", "--loglevel=WARNING"]

    def _worker(self) -> list[str]:
        options = ["--concurrency", "2", "--prefetch", "5", "--poll-interval", "0.5", "--dsn", self.server.url]
        return [sys.executable, "-m", "signalbox.worker", "work", "tests.chaos.company.handlers:handle", *options]
