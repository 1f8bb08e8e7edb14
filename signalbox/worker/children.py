"""The worker's side of a child process: starting it, giving it runs, and ending it for certain."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from signalbox.errors import SignalboxError
from signalbox.logs.formatters import log_format
from signalbox.messages import Message
from signalbox.worker.frames import Frames, pack
from signalbox.worker.outcomes import Outcome

#: A child inherits the import path and nothing else: what follows is for whoever reads the process list.
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from signalbox.worker.child import main; main(int(sys.argv[1]))"
)

#: How long a child may take to load the handler, and an idle one to leave, in seconds.
START_SECONDS = 60.0
LEAVE_SECONDS = 3.0


class HandlerNotLoaded(SignalboxError):  # noqa: N818 - as the errors of the client
    """A child process could not load the handler."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a child is started with."""

    handler: str
    environment: str | None
    threads: int
    label: str
    keep_results: bool = False
    bodies: str | None = None


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


@dataclass(eq=False, slots=True)
class Run:
    """One message in a child; `stack` comes only after a stop was asked for."""

    number: int
    outcome: asyncio.Future[Outcome] = field(default_factory=_future)
    stack: asyncio.Future[str] = field(default_factory=_future)
    #: Resolved when there is an outcome, or earlier by whoever wants the run to end.
    attention: asyncio.Future[None] = field(default_factory=_future)

    def end(self, outcome: Outcome) -> None:
        """The run is over; what is said later does not count."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)
        self.call_attention()

    def call_attention(self, _: object = None) -> None:
        """Have whoever waits for the run look at it now."""
        if not self.attention.done():
            self.attention.set_result(None)


class Child:
    """One process that runs the handler, in a process group of its own that is killed as a whole."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.is_async = False
        self.gone = False
        self.runs: dict[int, Run] = {}
        self._process = process
        self._transport: asyncio.WriteTransport
        self._numbers = itertools.count(1)
        self._greeting: asyncio.Future[dict[str, Any] | None] = _future()
        self._burial: asyncio.Future[asyncio.Task[None]] = _future()

    @classmethod
    async def start(cls, launch: Launch) -> Self:
        """A child that has loaded the handler. Raises HandlerNotLoaded with what the child said."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _BOOT, str(theirs.fileno()), json.dumps(sys.path), launch.label),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,
            )
        child = cls(process)
        await child._connect(ours)
        try:
            await child._greet(launch)
        except BaseException:
            await child.kill()
            raise
        return child

    @property
    def pid(self) -> int:
        """The process id, which is also that of the child's process group."""
        return self._process.pid

    def begin(self, message: Message) -> Run:
        """Give the child a message; the run's outcome comes in any case, if only when the process dies."""
        run = Run(next(self._numbers))
        self.runs[run.number] = run
        self._send({"run": run.number, "message": message.to_json()})
        return run

    def stop(self, run: Run) -> None:
        """Ask where the run is, and for it to end; only a task of an event loop can obey."""
        self._send({"stop": run.number})

    async def leave(self) -> None:
        """End an idle child, politely first, so that its exit handlers run."""
        self._send({"leave": True})
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), LEAVE_SECONDS)
        await self.kill()

    async def kill(self) -> None:
        """End the process group at once and wait for the end."""
        self._kill()
        await self._process.wait()
        self._transport.close()
        await (await self._burial)

    def _kill(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def _send(self, frame: Mapping[str, Any]) -> None:
        if not self._transport.is_closing():
            self._transport.write(pack(frame))

    async def _connect(self, link: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_unix_connection(lambda: Frames(self._hear, self._lose), sock=link)

    async def _greet(self, launch: Launch) -> None:
        self._send(
            {
                "handler": launch.handler,
                "environment": launch.environment,
                "queue": launch.label,
                "threads": launch.threads,
                "keep_results": launch.keep_results,
                "bodies": launch.bodies,
                "log_format": log_format(),
                "log_level": logging.getLogger().getEffectiveLevel(),
            }
        )
        try:
            greeting = await asyncio.wait_for(self._greeting, START_SECONDS)
        except TimeoutError:
            greeting = {"unable": f"not within {START_SECONDS:g} seconds"}
        if greeting is None or "ready" not in greeting:
            reason = greeting["unable"] if greeting else "the process ended before it was ready"
            raise HandlerNotLoaded(f"{launch.handler} cannot be loaded: {reason}")
        self.is_async = greeting["is_async"]

    def _hear(self, frame: dict[str, Any]) -> None:
        """Pass on what the child says."""
        if "run" not in frame:
            if not self._greeting.done():
                self._greeting.set_result(frame)
        elif (run := self.runs.get(frame["run"])) is not None:
            if "stack" in frame and not run.stack.done():
                run.stack.set_result(frame["stack"])
            if "outcome" in frame:
                run.end(Outcome(**frame["outcome"]))

    def _lose(self) -> None:
        self.gone = True
        if not self._greeting.done():
            self._greeting.set_result(None)
        self._burial.set_result(asyncio.create_task(self._bury()))

    async def _bury(self) -> None:
        """The child is gone, or as good as: what it was running has failed."""
        self._kill()
        outcome = _death(await self._process.wait())
        for run in self.runs.values():
            run.end(outcome)


def _death(returncode: int) -> Outcome:
    """A run whose process died: by a signal (the kernel's out-of-memory killer, a crash) or by leaving."""
    how = f"was killed by signal {-returncode}" if returncode < 0 else f"exited with status {returncode}"
    return Outcome("failed", error_class="ProcessDied", error=f"The process running the handler {how}.")
