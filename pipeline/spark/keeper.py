"""Keep the Spark server of this machine: a Java process that outlives its jobs, so that the next job starts quickly.

The keeper (`serve`) is the process that runs the Java process, which listens on the loopback address only. Jobs (`use`)
share `in-use.lock`; the keeper ends the server only when it holds this lock alone. When several jobs start keepers at
the same time, `kept.lock` lets one of them go on. The kernel releases the locks of a dead process, even after kill -9.
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
"""Limit for the start of a server, which usually takes seven seconds, on a busy machine."""
SPAWN_ATTEMPTS = 3
POLL_SECONDS = 0.05
REPORT_SECONDS = 5.0
"""Interval of a keeper's reports about its server."""
WATCH_SECONDS = 0.5
LOCK_SECONDS = 2.0
"""Time to wait for the keeper's lock, which checks of other processes hold for a moment."""
STOP_REQUESTED = "a signal asked it to stop"


class NoServer(PipelineError):  # noqa: N818 - it names what happened
    """The Spark server did not start."""


@dataclass(frozen=True)
class Address:
    """The process id of a keeper, and the port and token of its server."""

    pid: int
    port: int
    token: str = field(repr=False)

    @property
    def url(self) -> str:
        """The URL of Spark Connect. The client sends its token without TLS only to the host name localhost."""
        return f"sc://localhost:{self.port}/;token={self.token}"


@dataclass
class Life:
    """The state of a kept server, as its keeper reports it."""

    jobs: int = 0
    busy: bool = False
    ended: str = ""
    """Why the server ended; empty while it runs."""
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
        """Read the address of a server whose keeper lives; None while no server, or a starting one, exists."""
        with suppress(OSError, ValueError, TypeError):
            address = Address(**json.loads(self.address.read_text()))
            is_named = locks.is_held(self.kept) and self.kept.read_text() == str(address.pid)
            if is_named and psutil.pid_exists(address.pid):  # the lock alone is no proof: a check holds it too
                return address
        return None

    def write(self, address: Address) -> None:
        """Write the address atomically, readable by this user only."""
        draft = self.address.with_suffix(".begun")
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600, exist_ok=False)
        draft.write_text(json.dumps(asdict(address)))
        draft.replace(self.address)

    def last_words(self) -> str:
        with suppress(OSError):
            lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
            return f"{lines[-1].strip()[:300]} (the whole log is in {self.log})" if lines else str(self.log)
        return f"there is no log {self.log}"


@contextmanager
def use(folder: ServerFolder, owner: int) -> Iterator[str]:
    """Yield the URL of a running server, which is started if there is none, and keep it running within the block.

    A server that this starts ends when no job uses it after the process `owner` has ended; 0 stands for no owner.
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
    """Start a keeper in this process group, so that a signal to a worker's group ends the server too."""
    with folder.log.open("wb") as log:
        return subprocess.Popen(keeper_command(owner), stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def keeper_command(owner: int) -> list[str]:
    return [sys.executable, str(MANAGE), "pipeline", "serve", f"--owner={owner}"]


def serve(folder: ServerFolder, start: Callable[[], Server], idle_seconds: float, owner: int, report: Report) -> str:
    """Run a server until it was idle for `idle_seconds` or its owner ended; return why it ended.

    Returns at once when another process keeps a server.
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
        os.close(kept)  # the next server may start while this one stops
        server.stop()
    report(life)
    return life.ended


def _alive(pid: int) -> Callable[[], bool]:
    """Make a check whether a process lives, which a later process with the same id does not satisfy; 0 always lives."""
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
        """Watch the server until it ends or has a reason to end; return the reason."""
        reported_at, reported, life = 0.0, (-1, False), self.life
        while self.server.lives():
            alone = self._note_use(reported[0])
            is_new = (life.jobs, life.busy) != reported
            if alone is not None:
                if is_new:
                    self.server.clear()
                if reason := self._reason_to_end():
                    self.folder.address.unlink(missing_ok=True)  # a job that waits for the lock must start a new server
                os.close(alone)
                if reason:
                    return reason
            elif self.asked.is_set():
                return STOP_REQUESTED
            if is_new or time.monotonic() - reported_at > REPORT_SECONDS:
                report(life)
                reported_at, reported = time.monotonic(), (life.jobs, life.busy)
            self.asked.wait(WATCH_SECONDS)
        return "its Java process ended"

    def _note_use(self, jobs_before: int) -> int | None:
        """Note whether a job uses the server; when none does, return the exclusive lock under which it may end."""
        alone, life, uses = locks.try_exclusive(self.folder.in_use), self.life, self.folder.uses
        life.busy = alone is None
        life.jobs = uses.stat().st_size if uses.exists() else 0
        if life.busy or life.jobs != jobs_before:
            life.used = time.monotonic()
        return alone

    def _reason_to_end(self) -> str:
        """Return why a server that no job uses must end; empty when it may go on."""
        if self.asked.is_set():
            return STOP_REQUESTED
        if not self.owner_lives():
            return "the worker that started it ended"
        if self.life.idle_seconds >= self.idle_seconds:
            return f"no job used it for {self.idle_seconds:.0f} s"
        return ""
