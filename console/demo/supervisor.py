"""Supervisor of the demo's processes: starts again those that die, and leaves none behind.

Each child leads a session of its own, so that Ctrl-C reaches this process only, which then stops the others in
order: first those that make work, last the console. A child also dies with this process (Linux), even by kill -9.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from queues.stopping import Stopping

PR_SET_PDEATHSIG = 1  # linux/prctl.h
RESTART_SECONDS = 2.0
STOP_SECONDS = 8.0


@dataclass
class Part:
    """One process of the demo: its name, which is also its log's, and its command."""

    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    deaths: int = 0


@dataclass
class Supervisor:
    """A supervisor that starts the parts, watches them, and stops them in reverse order."""

    parts: Sequence[Part]
    environment: Mapping[str, str]
    logs: Path
    say: Callable[[str], object]
    on_started: Callable[[], object]
    stopping: Stopping = field(default_factory=Stopping)

    def run(self) -> None:
        """Run until `stop`, or until a signal."""
        self.logs.mkdir(parents=True, exist_ok=True)
        try:
            for part in self.parts:
                self._start(part)
            self.on_started()
            while not self.stopping.wait(0.5):
                self._watch()
        finally:
            self._stop_all()

    def stop(self) -> None:
        """End `run`; from a signal handler or any thread."""
        self.stopping.set()

    def _start(self, part: Part) -> None:
        with (self.logs / f"{part.name}.log").open("ab") as log:
            part.process = subprocess.Popen(
                part.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has no other threads yet
            )
        part.started_at = time.monotonic()

    def _watch(self) -> None:
        for part in self.parts:
            if part.process is None or part.process.poll() is None:
                continue
            if time.monotonic() - part.started_at < RESTART_SECONDS:
                continue
            part.deaths += 1
            self.say(f"{part.name} ended with {part.process.returncode} and is started again; see {part.name}.log")
            self._start(part)

    def _stop_all(self) -> None:
        """Ask each to end, then make sure that nothing of its session is left."""
        for part in reversed(self.parts):
            _signal(part, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for part in reversed(self.parts):
            if part.process is None:
                continue
            try:
                part.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.say(f"{part.name} does not stop and is killed")
            _signal(part, signal.SIGKILL)
            part.process.wait()


def _signal(part: Part, number: signal.Signals) -> None:
    if part.process is None:
        return
    try:
        if number == signal.SIGKILL:
            os.killpg(part.process.pid, number)  # children of its own included
        else:
            part.process.send_signal(number)
    except ProcessLookupError:
        pass  # it is gone, and all it started


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
