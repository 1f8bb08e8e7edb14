"""Commands with measured memory: the process and all its children, shared pages counted once."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Ended:
    printed: str
    seconds: float
    """Cost of a command from its start to its end."""
    cpu_seconds: float
    peak_mb: float


def run(command: Sequence[str], environment: Mapping[str, str]) -> Ended:
    """Run the command to its end; raise an error if it fails."""
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    tree, over = _Tree(process.pid), threading.Event()
    watcher = threading.Thread(target=tree.watch, args=(over,))
    watcher.start()
    try:
        out, error = process.communicate()
        seconds = time.monotonic() - began
    finally:
        over.set()
        watcher.join()
    if process.returncode:
        raise RuntimeError(error)
    return Ended(out, seconds, sum(tree.cpu_seconds.values()), tree.peak_bytes / 2**20)


@contextmanager
def standing_still(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Held]:
    """Start a command and pause it at once with its children. At the end of the block it is killed if it still runs."""
    process = subprocess.Popen(
        command, env=dict(environment), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    held = Held(process)
    try:
        held.signal(signal.SIGSTOP)
        yield held
    finally:
        if process.poll() is None:
            held.signal(signal.SIGKILL)
        process.communicate()


@dataclass(frozen=True)
class Held:
    process: subprocess.Popen[str]

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Let the command work within the block, and pause it again afterwards."""
        self.signal(signal.SIGCONT)
        yield
        self.signal(signal.SIGSTOP)

    def is_over(self) -> bool:
        """Return whether the command has ended. Raise an error if it failed."""
        if self.process.poll():
            raise RuntimeError(self.process.communicate()[1])
        return self.process.returncode is not None

    def signal(self, number: int) -> None:
        for process in _Tree(self.process.pid).all():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)


class _Tree:
    """Sampler of a process and all its children, including those such as Java that no parent waits for."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.peak_bytes = 0
        self.cpu_seconds: dict[int, float] = {}

    def watch(self, over: threading.Event) -> None:
        while not over.is_set():
            self.peak_bytes = max(self.peak_bytes, sum(map(self._look_at, self.all())))
            over.wait(LOOK_SECONDS)

    def all(self) -> list[psutil.Process]:
        try:
            return [root := psutil.Process(self.pid), *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _look_at(self, process: psutil.Process) -> int:
        """Return the memory in bytes, and note the CPU seconds; the last note before its end counts for the process."""
        try:
            with process.oneshot():
                self.cpu_seconds[process.pid] = sum(process.cpu_times()[:2])
                return int(process.memory_full_info().pss)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return 0
