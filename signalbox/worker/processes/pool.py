"""The child processes of a worker: each message goes to one with room, and a run that takes too long is stopped.

A child is started when no other has room and then kept. A run that does not stop retires its
child: other runs in it may finish, then the process is killed.
"""

from __future__ import annotations

import asyncio
from typing import Any

from signalbox.messages import Message
from signalbox.worker.handlers.outcomes import Outcome
from signalbox.worker.options import Options
from signalbox.worker.processes.children import Child, Run

#: Seconds that a child has to report the stack of a run before it is killed.
STACK_SECONDS = 3.0


class Pool:
    """The pool of child processes; each message runs in one that has room."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._children: set[Child] = set()
        self._retired: set[Child] = set()
        self._starting = asyncio.Lock()

    async def open(self) -> None:
        """Start the first child. Raises HandlerNotLoaded if the handler cannot be loaded."""
        await self._grow()

    async def perform(self, message: Message, queue: str, interruption: asyncio.Future[None]) -> Outcome:
        """Run the handler on the message until it ends, its time is over or `interruption` is resolved."""
        child, run = await self._begin(message, queue)
        try:
            ended = await self._follow(run, interruption)
            if not ended:
                await self._stop(child, run)
        finally:
            del child.runs[run.number]
            if child in self._retired and not child.runs:
                self._retired.discard(child)
                await child.kill()
        outcome = run.outcome.result() if run.outcome.done() else None
        if outcome is not None and (ended or outcome.kind == "done"):
            return outcome
        if interruption.done():
            return Outcome("stopped")
        return self._timed_out(run, outcome)

    async def close(self) -> None:
        """Let idle children leave, and kill the others."""
        children = self._children | self._retired
        self._children, self._retired = set(), set()
        await asyncio.gather(*(child.kill() if child.runs else child.leave() for child in children))

    async def kill(self) -> None:
        """Kill every child at once."""
        await asyncio.gather(*(child.kill() for child in self._children | self._retired))

    async def _begin(self, message: Message, queue: str) -> tuple[Child, Run]:
        child = self._with_room()
        if child is None:
            async with self._starting:
                child = self._with_room() or await self._grow()
        return child, child.begin(message, queue)

    async def _grow(self) -> Child:
        child = await Child.start(self._options)
        self._children.add(child)
        return child

    def _with_room(self) -> Child | None:
        self._children = {child for child in self._children if not child.gone}
        return next((child for child in self._children if len(child.runs) < self._capacity(child)), None)

    def _capacity(self, child: Child) -> int:
        return self._options.tasks_per_process or (self._options.concurrency if child.is_async else 1)

    async def _follow(self, run: Run, interruption: asyncio.Future[None]) -> bool:
        """Wait for the run; True when it ended by itself. It needs half the turns of asyncio.wait."""
        interruption.add_done_callback(run.call_attention)
        timeout = self._options.task_timeout
        timer = asyncio.get_running_loop().call_later(timeout, run.call_attention) if timeout else None
        try:
            await run.attention
        finally:
            interruption.remove_done_callback(run.call_attention)
            if timer is not None:
                timer.cancel()
        return run.outcome.done()

    async def _stop(self, child: Child, run: Run) -> None:
        """Cancel the run and wait; if it does not end, retire its child."""
        child.stop(run)
        answers: set[asyncio.Future[Any]] = {run.outcome} if child.is_async else {run.outcome, run.stack}
        grace = self._options.cancel_grace if child.is_async else STACK_SECONDS
        await asyncio.wait(answers, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        if not run.outcome.done():
            self._children.discard(child)
            self._retired.add(child)

    def _timed_out(self, run: Run, outcome: Outcome | None) -> Outcome:
        """Make the outcome of a run that was stopped at its timeout, with its stack at that time."""
        stack = run.stack.result() if run.stack.done() else None
        return Outcome(
            "timed_out",
            error_class="TaskTimeout",
            error=f"The handler ran longer than {self._options.task_timeout:g} seconds and was stopped.",
            details=(outcome.details if outcome else None) or stack,
        )
