"""Real worker processes for tests, and waiting for what they do without guessing how long it takes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

T = TypeVar("T")

#: Longer than anything here takes on a slow machine, in seconds.
PATIENCE = 120.0


def eventually(look: Callable[[], T], within: float = PATIENCE) -> T:
    """Value of `look` once it is true; fails after the time limit."""
    deadline = time.monotonic() + within
    while not (seen := look()):
        assert time.monotonic() < deadline, f"still {seen!r} after {within} s"
        time.sleep(0.02)
    return seen


def gone(pid: int) -> bool:
    """Return whether the process has ended."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@dataclass
class Notes:
    """Records of handlers about their runs: (word, message id, receive count, process id) for each line."""

    path: Path

    @property
    def lines(self) -> list[tuple[str, int, int, int]]:
        if not self.path.exists():
            return []
        rows = [line.split() for line in self.path.read_text().splitlines()]
        return [(word, int(message), int(count), int(pid)) for word, message, count, pid in rows]

    def said(self, word: str) -> list[tuple[str, int, int, int]]:
        return [line for line in self.lines if line[0] == word]

    def payload(self, **more: object) -> dict[str, object]:
        return {"notes": str(self.path), "gate": str(self.gate), **more}

    @property
    def gate(self) -> Path:
        return self.path.with_suffix(".gate")

    def open_gate(self) -> None:
        self.gate.touch()


class WorkerProcess:
    """`python -m signalbox.worker` in a session of its own, with its log in a file."""

    def __init__(self, arguments: list[str], log: Path, environment: dict[str, str]) -> None:
        self.log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "signalbox.worker", *arguments],
                stdout=output,
                stderr=output,
                env=os.environ | environment,
                start_new_session=True,
            )

    def tell(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(PATIENCE)

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    def end(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in self.children():
                child.kill()
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def worker_starter(folder: Path, **environment: str) -> Iterator[Callable[..., WorkerProcess]]:
    """Start workers with arguments, and options given as keywords; all have ended afterwards."""
    started: list[WorkerProcess] = []

    def start(*arguments: str, **options: Any) -> WorkerProcess:
        switches = [
            f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in options.items()
        ]
        worker = WorkerProcess(
            [*arguments, "--poll-interval=0.2", *switches], folder / f"worker-{len(started)}.log", environment
        )
        started.append(worker)
        return worker

    try:
        yield start
    finally:
        for worker in started:
            worker.end()


def handler_starter(start: Callable[..., WorkerProcess]) -> Callable[..., WorkerProcess]:
    """Start a worker of a queue with one of the handlers that are here."""
    return lambda queue, handler, **options: start(queue, f"tests.signalbox.worker.handlers:{handler}", **options)
