"""Keep the Spark server of this machine: one Java that outlives a job, so that the next begins in a second or two.

A job holds `in-use.lock` together with others (`use`). The keeper (`serve`) is the process that holds the Java, listens
on loopback alone, and ends the Java only under that lock. Of two jobs that find no server both start a keeper, and
`kept.lock` lets one live. All locks are the kernel's: no way of dying, kill -9 included, leaves a wrong answer behind.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

import psutil

from pipeline.errors import PipelineError
from queues.database.embedded import locks
from queues.stopping import Stopping, on_signals

MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
START_SECONDS = 300.0
"""How long a start may take: seven seconds are usual, and a busy machine is no reason to give up."""
SPAWN_ATTEMPTS = 3
POLL_SECONDS = 0.05
REPORT_SECONDS = 5.0
"""How often a keeper reports that its server lives."""
WATCH_SECONDS = 0.5
LOCK_SECONDS = 2.0
"""How long the check of another process may hold the keeper's lock."""
STOP_REQUESTED = "it was asked to stop"


class NoServer(PipelineError):  # noqa: N818 - it names what happened
    """The Spark server does not start."""


@dataclass(frozen=True)
class Address:
    """The process of a keeper, and the port and token of its server."""

    pid: int
    port: int
    token: str = field(repr=False)

    @property
    def url(self) -> str:
        """The URL of Spark Connect: by this name alone the client sends its token over a plain loopback socket."""
        return f"sc://localhost:{self.port}/;token={self.token}"


@dataclass
class Life:
    """The report of a keeper about its server."""

    jobs: int = 0
    busy: bool = False
    ended: str = ""
    """Why it ended; empty while it lives."""
    used: float = field(default_factory=time.monotonic)

    @property
    def idle_seconds(self) -> float:
        return time.monotonic() - self.used


Report = Callable[[Life], object]


class Server(Protocol):
    """The server that a keeper keeps (`sessions.KeptJava`)."""

    token: str
    port: int

    def lives(self) -> bool: ...
    def clear(self) -> None: ...
    def stop(self) -> None: ...


class ServerFolder:
    """The folder of the server, readable by its owner alone: locks, address and log."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "spark"
        self.kept, self.in_use = self.folder / "kept.lock", self.folder / "in-use.lock"
        self.log, self.uses, self.address = self.folder / "log", self.folder / "uses", self.folder / "address.json"

    def prepare(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def read(self) -> Address | None:
        """Read the address of a server whose keeper lives; None as well while it is still starting."""
        with suppress(OSError, ValueError, TypeError):
            address = Address(**json.loads(self.address.read_text()))
            is_named = locks.is_held(self.kept) and self.kept.read_text() == str(address.pid)
            if is_named and psutil.pid_exists(address.pid):  # a check holds the lock for a moment too
                return address
        return None

    def write(self, address: Address) -> None:
        """Write the address whole or not at all, for this user alone."""
        draft = self.address.with_suffix(".begun")
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600, exist_ok=False)
        draft.write_text(json.dumps(asdict(address)))
        draft.replace(self.address)

    def last_words(self) -> str:
        with suppress(OSError):
            lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
            return f"{lines[-1].strip()[:300]} (the whole log is in {self.log})" if lines else str(self.log)
        return f"it has written no {self.log}"


@contextmanager
def use(folder: ServerFolder, owner: int) -> Iterator[str]:
    """Yield the URL of a server that answers, started if need be; it does not stop within the block.

    A server that this starts ends once the process `owner` has ended and no job uses it; 0 stands for no process.
    """
    folder.prepare()
    held = locks.shared(folder.in_use)
    try:
        url = _reach(folder, owner).url
        with folder.uses.open("ab") as uses:
            uses.write(b".")
        yield url
    finally:
        os.close(held)


def _reach(folder: ServerFolder, owner: int) -> Address:
    deadline, started = time.monotonic() + START_SECONDS, list[subprocess.Popen[bytes]]()
    while True:
        address = folder.read()
        if address is not None and _answers(address):
            return address
        if not locks.is_held(folder.kept) and not (started and started[-1].poll() is None):
            if len(started) == SPAWN_ATTEMPTS:
                raise NoServer(f"{NoServer.__doc__} {folder.last_words()}")
            started.append(_spawn(folder, owner))
        if time.monotonic() > deadline:
            raise NoServer(f"The Spark server does not answer after {START_SECONDS:.0f} s: {folder.last_words()}")
        time.sleep(POLL_SECONDS)


def _answers(address: Address) -> bool:
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex(("127.0.0.1", address.port)) == 0


def _spawn(folder: ServerFolder, owner: int) -> subprocess.Popen[bytes]:
    """Start a keeper in this process group, so that what kills the group of a worker leaves no server behind."""
    with folder.log.open("wb") as log:
        return subprocess.Popen(keeper_command(owner), stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def keeper_command(owner: int) -> list[str]:
    return [sys.executable, str(MANAGE), "pipeline", "serve", f"--owner={owner}"]


def serve(folder: ServerFolder, start: Callable[[], Server], idle_seconds: float, owner: int, report: Report) -> str:
    """Keep a server until no job has used it for so long, or its owner has ended; return why it ended.

    Returns at once when another process keeps one.
    """
    folder.prepare()
    kept = locks.try_exclusive(folder.kept, LOCK_SECONDS)
    if kept is None:
        return "another process keeps a server"
    os.ftruncate(kept, 0)
    os.write(kept, str(os.getpid()).encode())
    folder.address.unlink(missing_ok=True)
    folder.uses.unlink(missing_ok=True)
    asked = Stopping()
    on_signals(asked.set, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    server = start()
    folder.write(Address(os.getpid(), server.port, server.token))
    life = Life()
    keeper = _Keeper(folder, server, life, idle_seconds, _alive(owner), asked)
    try:
        life.ended = keeper.watch(report)
    finally:
        folder.address.unlink(missing_ok=True)
        os.close(kept)  # the next may start while this one stops
        server.stop()
    report(life)
    return life.ended


def _alive(pid: int) -> Callable[[], bool]:
    """Ask about a process, not about a later one with its number; 0 never ends."""
    try:
        return psutil.Process(pid).is_running if pid else lambda: True
    except psutil.NoSuchProcess:
        return lambda: False


@dataclass(frozen=True)
class _Keeper:
    folder: ServerFolder
    server: Server
    life: Life
    idle_seconds: float
    owner_lives: Callable[[], bool]
    asked: Stopping

    def watch(self, report: Report) -> str:
        """Watch the server until it ends, or should; return why."""
        reported_at, reported, life = 0.0, (-1, False), self.life
        while self.server.lives():
            alone = self._note_use(reported[0])
            is_new = (life.jobs, life.busy) != reported
            if alone is not None:
                if is_new:
                    self.server.clear()
                if reason := self._reason_to_end():
                    self.folder.address.unlink(missing_ok=True)  # a job that waits for the lock starts a server
                os.close(alone)
                if reason:
                    return reason
            elif self.asked.is_set():
                return STOP_REQUESTED
            if is_new or time.monotonic() - reported_at > REPORT_SECONDS:
                report(life)
                reported_at, reported = time.monotonic(), (life.jobs, life.busy)
            self.asked.wait(WATCH_SECONDS)
        return "its Java ended"

    def _note_use(self, jobs_before: int) -> int | None:
        """Note whether a job uses the server. Returns the lock under which it may be ended, where none does."""
        alone, life, uses = locks.try_exclusive(self.folder.in_use), self.life, self.folder.uses
        life.busy = alone is None
        life.jobs = uses.stat().st_size if uses.exists() else 0
        if life.busy or life.jobs != jobs_before:
            life.used = time.monotonic()
        return alone

    def _reason_to_end(self) -> str:
        """Say why a server that no job uses should end; empty when it should not."""
        if self.asked.is_set():
            return STOP_REQUESTED
        if not self.owner_lives():
            return "the worker that had started it ended"
        if self.life.idle_seconds >= self.idle_seconds:
            return f"no job used it for {self.idle_seconds:.0f} s"
        return ""
