"""Supervisor of the processes of a server: restarts those that die, and leaves none behind.

Each part leads a session of its own, so that Ctrl-C reaches the supervisor only. The supervisor then stops the parts
in reverse order: those that make work first, the console last. Processes that a part has started in other sessions,
such as runs of Spark, are asked to end too; otherwise the job worker would wait for them. A part also dies with the
supervisor (Linux), even by kill -9. Whatever a part prints goes to its log.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from queues.stopping import Stopping

PR_SET_PDEATHSIG = 1  # linux/prctl.h
RESTART_SECONDS = 2.0
STOP_SECONDS = 15.0
"""Seconds that a part has to end. The demo's workers of a silent cell give up sooner."""


@dataclass
class Part:
    """One process of a server. Its log has the name of the part."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to those of all parts."""
    down_seconds: float = 0.0
    """Seconds after the end of the process until it is started again, at least RESTART_SECONDS."""
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    ended_at: float | None = None
    deaths: int = 0

    @property
    def starts_again_at(self) -> float:
        """The time at which a part that has ended is started again."""
        ended_at = self.started_at if self.ended_at is None else self.ended_at
        return max(self.started_at + RESTART_SECONDS, ended_at + self.down_seconds)


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
        """End `run`. A signal handler or any thread may call it."""
        self.stopping.set()

    def _start(self, part: Part) -> None:
        with (self.logs / f"{part.name}.log").open("ab") as log:
            part.process = subprocess.Popen(
                part.command,
                env={**self.environment, **part.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has no other threads yet
            )
        part.started_at, part.ended_at = time.monotonic(), None

    def _watch(self) -> None:
        for part in self.parts:
            if part.process is None or part.process.poll() is None:
                continue
            if part.ended_at is None:
                part.ended_at = time.monotonic()
            if time.monotonic() < part.starts_again_at:
                continue
            part.deaths += 1
            self.say(f"{part.name} ended with {part.process.returncode} and is restarted; see {part.name}.log")
            self._start(part)

    def _stop_all(self) -> None:
        """Ask every process to end, and kill those that have not ended after STOP_SECONDS."""
        running = [(part.name, part.process) for part in reversed(self.parts) if part.process is not None]
        elsewhere = [other for _, process in running for other in _in_other_sessions(process)]
        for _, process in running:
            process.terminate()
        _end(elsewhere, STOP_SECONDS / 2)
        deadline = time.monotonic() + STOP_SECONDS
        for name, process in running:
            self._finish(name, process, deadline)

    def _finish(self, name: str, process: subprocess.Popen[bytes], deadline: float) -> None:
        """Wait for a part until the deadline, then kill what is left of its session. Its log names a late part."""
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            with (self.logs / f"{name}.log").open("a") as log:
                log.write(f"{name} did not end within {STOP_SECONDS:.0f} s and is killed\n")
        with suppress(ProcessLookupError):  # the part has ended, and all that it started
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _in_other_sessions(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Find the descendants of a part that the signals to its session do not reach."""
    try:
        descendants = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [descendant for descendant in descendants if _session_of(descendant) != process.pid]


def _session_of(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return 0


def _end(processes: Sequence[psutil.Process], seconds: float) -> None:
    """Ask these processes to end, and kill those that have not ended in time."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, left = psutil.wait_procs(processes, timeout=seconds)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
