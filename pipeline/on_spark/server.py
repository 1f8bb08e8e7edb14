"""The Spark server of this machine: one Java that stays for a while, so that a job begins in a second or two.

Who works in it holds `in-use.lock` together with others; `serving` is the process that holds the Java, and
stops only when it gets that lock alone. Of two that find no server both start one, and `kept.lock` lets one live.
All locks are the kernel's, so that no way of dying leaves a wrong answer behind.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from pipeline.errors import PipelineError
from queues.embedded import locks

MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
START_SECONDS = 300.0
"""Seven are usual; a machine that does much else is no reason to give up."""
SPAWN_ATTEMPTS = 3
POLL_SECONDS = 0.05
TELL_SECONDS = 5.0
"""How often a server says that it lives."""


class NoServer(PipelineError):  # noqa: N818 - it names what happened
    """The Spark server does not start."""


@dataclass(frozen=True)
class Address:
    """Where the server is, and what opens it."""

    pid: int
    port: int
    token: str = field(repr=False)

    @property
    def url(self) -> str:
        """Of Spark Connect. By this name, and no other, the client sends its token over a plain loopback socket."""
        return f"sc://localhost:{self.port}/;token={self.token}"


@dataclass
class Life:
    """What the keeper knows about its server; it tells it to whoever records it."""

    jobs: int = 0
    busy: bool = False
    ended: str = ""
    """Why; empty while it lives."""
    used: float = field(default_factory=time.monotonic)

    @property
    def idle_seconds(self) -> float:
        return time.monotonic() - self.used


Tell = Callable[[Life], object]


class Place:
    """The server's folder, which is its owner's alone: locks, address and log."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "spark"
        self.kept, self.in_use = self.folder / "kept.lock", self.folder / "in-use.lock"
        self.log, self.uses, self.address = self.folder / "log", self.folder / "uses", self.folder / "address.json"

    def prepare(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def read(self) -> Address | None:
        """The address of a server whose keeper lives; None as well while it is still starting."""
        with suppress(OSError, ValueError, TypeError):
            address = Address(**json.loads(self.address.read_text()))
            is_named = locks.is_held(self.kept) and self.kept.read_text() == str(address.pid)
            if is_named and psutil.pid_exists(address.pid):  # others who look hold the lock for a moment too
                return address
        return None

    def write(self, address: Address) -> None:
        """Whole, or not at all; for this user alone."""
        draft = self.address.with_suffix(".begun")
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600, exist_ok=False)
        draft.write_text(json.dumps(asdict(address)))
        draft.replace(self.address)

    def last_words(self) -> str:
        with suppress(OSError):
            lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
            return f"{lines[-1].strip()[:300]} (all of it is in {self.log})" if lines else str(self.log)
        return f"it has written no {self.log}"


@contextmanager
def use(place: Place, owner: int) -> Iterator[str]:
    """The URL of a server that answers, started if need be; it does not stop within the block.

    A server that this starts ends once the process `owner` has ended and nobody uses it; 0 is nobody.
    """
    place.prepare()
    held = locks.shared(place.in_use)
    try:
        url = _reached(place, owner).url
        with place.uses.open("ab") as uses:
            uses.write(b".")
        yield url
    finally:
        os.close(held)


def _reached(place: Place, owner: int) -> Address:
    deadline, started = time.monotonic() + START_SECONDS, list[subprocess.Popen[bytes]]()
    while True:
        address = place.read()
        if address is not None and _answers(address):
            return address
        if not locks.is_held(place.kept) and not (started and started[-1].poll() is None):
            if len(started) == SPAWN_ATTEMPTS:
                raise NoServer(f"{NoServer.__doc__} {place.last_words()}")
            started.append(_spawned(place, owner))
        if time.monotonic() > deadline:
            raise NoServer(f"The Spark server does not answer after {START_SECONDS:.0f} s: {place.last_words()}")
        time.sleep(POLL_SECONDS)


def _answers(address: Address) -> bool:
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex(("127.0.0.1", address.port)) == 0


def _spawned(place: Place, owner: int) -> subprocess.Popen[bytes]:
    """In our process group, so that what kills the group of a worker leaves no server behind."""
    with place.log.open("wb") as log:
        return subprocess.Popen(keeper(owner), stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def keeper(owner: int) -> list[str]:
    """The command of the process that keeps a server."""
    return [sys.executable, str(MANAGE), "pipeline", "serve", f"--owner={owner}"]
