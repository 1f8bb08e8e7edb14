"""The children of a worker: giving each message to one with room, and stopping what runs too long.

A child is started when no other has room and then kept. A run that does not stop takes its child out of
service: other runs in it may finish, then the process is killed. Nothing outlives its time for long.
"""

from __future__ import annotations

import asyncio
from typing import Any

from signalbox.messages import Message
from signalbox.worker.children import Child, Launch, Run
from signalbox.worker.outcomes import Outcome

#: How long a child may take to tell where a run is before it is killed, in seconds.
STACK_SECONDS = 3.0


class Crew:
    """Runs messages in child processes, each in one that has room for it."""

    def __init__(self, launch: Launch, async_capacity: int, cancel_grace: float) -> None:
        self._launch = launch
        self._async_capacity = async_capacity
        self._cancel_grace = cancel_grace
        self._children: set[Child] = set()
        self._retired: set[Child] = set()
        self._starting = asyncio.Lock()

    async def open(self) -> None:
        """Start the first child. Raises HandlerNotLoaded if the handler cannot be loaded."""
        await self._grow()

    async def perform(
        self, message: Message, task_timeout: float | None, interruption: asyncio.Future[None]
    ) -> Outcome:
        """Run the handler on the message until it ends, its time is over or `interruption` is resolved."""
        child, run = await self._begin(message)
        try:
            ended = await self._follow(run, task_timeout, interruption)
            if not ended:
                await self._stop(child, run)
        finally:
            del child.runs[run.number]
            await self._tidy(child)
        outcome = run.outcome.result() if run.outcome.done() else None
        if outcome is not None and (ended or outcome.kind == "done"):
            return outcome
        if interruption.done():
            return Outcome("stopped")
        return _timed_out(run, outcome, task_timeout)

    async def close(self) -> None:
        """Let idle children leave, and kill the others."""
        children = self._children | self._retired
        self._children, self._retired = set(), set()
        await asyncio.gather(*(child.kill() if child.runs else child.leave() for child in children))

    async def kill(self) -> None:
        """Kill every child at once."""
        await asyncio.gather(*(child.kill() for child in self._children | self._retired))

    async def _begin(self, message: Message) -> tuple[Child, Run]:
        child = self._with_room()
        if child is None:
            async with self._starting:
                child = self._with_room() or await self._grow()
        return child, child.begin(message)

    async def _grow(self) -> Child:
        child = await Child.start(self._launch)
        self._children.add(child)
        return child

    def _with_room(self) -> Child | None:
        self._children = {child for child in self._children if not child.gone}
        return next((child for child in self._children if len(child.runs) < self._capacity(child)), None)

    def _capacity(self, child: Child) -> int:
        return self._async_capacity if child.is_async else self._launch.threads

    async def _follow(self, run: Run, task_timeout: float | None, interruption: asyncio.Future[None]) -> bool:
        """Wait for the run. Did it end by itself? What asyncio.wait does, in half the turns of the event loop."""
        interruption.add_done_callback(run.call_attention)
        timer = asyncio.get_running_loop().call_later(task_timeout, run.call_attention) if task_timeout else None
        try:
            await run.attention
        finally:
            interruption.remove_done_callback(run.call_attention)
            if timer is not None:
                timer.cancel()
        return run.outcome.done()

    async def _stop(self, child: Child, run: Run) -> None:
        """Cancel the task and wait; if that does not end the run, take its process out of service."""
        child.stop(run)
        answers: set[asyncio.Future[Any]] = {run.outcome} if child.is_async else {run.outcome, run.stack}
        grace = self._cancel_grace if child.is_async else STACK_SECONDS
        await asyncio.wait(answers, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        if not run.outcome.done():
            self._children.discard(child)
            self._retired.add(child)

    async def _tidy(self, child: Child) -> None:
        """Kill a child out of service once nothing else runs in it."""
        if child in self._retired and not child.runs:
            self._retired.discard(child)
            await child.kill()


def _timed_out(run: Run, outcome: Outcome | None, task_timeout: float | None) -> Outcome:
    """The outcome of a run that was stopped at its timeout, with the stack of where it was."""
    stack = run.stack.result() if run.stack.done() else None
    return Outcome(
        "timed_out",
        error_class="TaskTimeout",
        error=f"The handler ran longer than {task_timeout:g} seconds and was stopped.",
        details=(outcome.details if outcome else None) or stack,
    )
