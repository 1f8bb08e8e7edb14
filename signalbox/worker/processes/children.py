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
from weakref import WeakKeyDictionary

from signalbox.errors import SignalboxError
from signalbox.logs.formatters import log_format
from signalbox.messages import Message
from signalbox.worker.handlers.outcomes import Outcome
from signalbox.worker.options import Options
from signalbox.worker.processes.frames import Frames, pack

#: A child inherits the import path and nothing else; the last argument is a label for the process list.
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from signalbox.worker.processes.child import main; main(int(sys.argv[1]))"
)

#: Seconds for a child to load the handler, and for an idle child to leave.
START_SECONDS = 60.0
LEAVE_SECONDS = 3.0

STARTS_AT_ONCE = os.cpu_count() or 1
"""Children of all pools of a process that load handlers at the same time. If all children loaded at once, each would
take as long as the slowest, and on a busy machine none would be ready in time."""
_starting: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class HandlerNotLoaded(SignalboxError):  # noqa: N818 - as the errors of the client
    """A child process could not load the handler."""


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


@dataclass(eq=False, slots=True)
class Run:
    """The run of one message in a child; `stack` is set only after `stop`."""

    number: int
    outcome: asyncio.Future[Outcome] = field(default_factory=_future)
    stack: asyncio.Future[str] = field(default_factory=_future)
    #: A future that is resolved with the outcome, or earlier when the run must end.
    attention: asyncio.Future[None] = field(default_factory=_future)

    def end(self, outcome: Outcome) -> None:
        """End the run; a later outcome does not count."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)
        self.call_attention()

    def call_attention(self, _: object = None) -> None:
        """Wake the task that waits for the run."""
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
        self._ended: asyncio.Future[asyncio.Task[None]] = _future()

    @classmethod
    async def start(cls, options: Options) -> Self:
        """Start a child that has loaded the handler, once fewer than STARTS_AT_ONCE load theirs.

        Raises HandlerNotLoaded with the reason.
        """
        loop = asyncio.get_running_loop()
        async with _starting.setdefault(loop, asyncio.Semaphore(STARTS_AT_ONCE)):
            return await cls._start(options)

    @classmethod
    async def _start(cls, options: Options) -> Self:
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _BOOT, str(theirs.fileno()), json.dumps(sys.path), options.queue),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,
            )
        child = cls(process)
        await child._connect(ours)
        try:
            await child._greet(options)
        except BaseException:
            await child.kill()
            raise
        return child

    @property
    def pid(self) -> int:
        """The process id, which is also that of the child's process group."""
        return self._process.pid

    def begin(self, message: Message, queue: str) -> Run:
        """Give the child a message of a queue; the run always gets an outcome, at the latest when the process ends."""
        run = Run(next(self._numbers))
        self.runs[run.number] = run
        self._send({"run": run.number, "queue": queue, "message": message.to_json()})
        return run

    def stop(self, run: Run) -> None:
        """Ask for the stack of a run and for its end; only a task of an event loop can end on request."""
        self._send({"stop": run.number})

    async def leave(self) -> None:
        """End an idle child by an order, so that its exit handlers run; kill it if it does not leave."""
        self._send({"leave": True})
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), LEAVE_SECONDS)
        await self.kill()

    async def kill(self) -> None:
        """End the process group at once and wait for the end."""
        self._kill()
        await self._process.wait()
        self._transport.close()
        await (await self._ended)

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

    async def _greet(self, options: Options) -> None:
        self._send(
            {
                "handler": options.handler_name,
                "environment": options.environment,
                "once": options.dsn if options.once else None,
                "queue": options.queue,
                "threads": options.tasks_per_process or 1,
                "keep_results": options.keep_results,
                "bodies": options.bodies,
                "log_format": log_format(),
                "log_level": logging.getLogger().getEffectiveLevel(),
            }
        )
        try:
            greeting = await asyncio.wait_for(self._greeting, START_SECONDS)
        except TimeoutError:
            greeting = {"unable": f"the process was not ready within {START_SECONDS:g} seconds"}
        if greeting is None or "ready" not in greeting:
            reason = greeting["unable"] if greeting else "the process ended before it was ready"
            raise HandlerNotLoaded(f"{options.handler_name} cannot be loaded: {reason}")
        self.is_async = greeting["is_async"]

    def _hear(self, frame: dict[str, Any]) -> None:
        """Pass a frame of the child on to its run."""
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
        self._ended.set_result(asyncio.create_task(self._end_runs()))

    async def _end_runs(self) -> None:
        """Fail all runs of a child that has ended, by a signal (out of memory, a crash) or by itself."""
        self._kill()
        status = await self._process.wait()
        ending = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        outcome = Outcome("failed", error_class="ProcessDied", error=f"The process running the handler {ending}.")
        for run in self.runs.values():
            run.end(outcome)
