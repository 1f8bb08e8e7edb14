"""Recording of outcomes in the database: acks many at a time, everything else at once.

An ack waits a little to be sent with others, and acks that arrive during a call are sent together in the next. The
leases of waiting acks are extended like any other. If a worker dies with pending acks, their messages are delivered
again, as if the worker had died a little earlier.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from signalbox.async_verbs import AsyncVerbs
from signalbox.errors import SignalboxError
from signalbox.messages import FailureReason, NackOutcome
from signalbox.worker.handlers.outcomes import Kind, Outcome
from signalbox.worker.leases import Lease, Leases
from signalbox.worker.options import Options
from signalbox.worker.outages import persist

T = TypeVar("T")

_REASONS: dict[Kind, FailureReason] = {
    "failed": "runtime_error",
    "retry": "runtime_error",
    "rejected": "rejected",
    "timed_out": "lock_expired",
}

logger = logging.getLogger(__name__)


class Settlement:
    """The settlement of leases, which outages only delay; `relieved` is called after each round of settlements."""

    def __init__(self, client: AsyncVerbs, leases: Leases, options: Options, relieved: Callable[[], None]) -> None:
        self._client = client
        self._leases = leases
        self._options = options
        self._relieved = relieved
        self._done: list[tuple[Lease, Outcome]] = []
        self._not_done: list[tuple[Lease, Outcome]] = []
        self._timer: asyncio.TimerHandle | None = None  # runs while acks wait for others
        self._due = asyncio.Event()
        self._hurried = False
        #: Set while there is nothing left to settle.
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def pending(self) -> int:
        """The number of outcomes that wait for their call."""
        return len(self._done) + len(self._not_done)

    def settle(self, lease: Lease, outcome: Outcome) -> None:
        """Record the outcome soon. A lost lease has nothing to settle."""
        lease.finished = True
        if lease.lost:
            return
        self.idle.clear()
        if outcome.kind == "done":
            self._done.append((lease, outcome))
            self._schedule()
        else:
            self._not_done.append((lease, outcome))
            self._due.set()

    def hurry(self) -> None:
        """Let no further ack wait for others."""
        self._hurried = True
        self._schedule()

    async def work(self) -> None:
        """Record outcomes as they arrive, until the task is cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self._record()
            self._relieved()
            if not self.pending:
                self.idle.set()

    def _schedule(self) -> None:
        """Send the acks now if they are enough or may not wait; otherwise when the first has waited its time."""
        if self._hurried or not self._options.ack_delay or len(self._done) >= self._options.ack_batch:
            self._due.set()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._options.ack_delay, self._due.set)

    async def _record(self) -> None:
        """Record failures first, since another consumer may take those messages; then one call of acks."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        not_done, self._not_done = self._not_done, []
        await self._give_back([lease for lease, outcome in not_done if outcome.kind == "stopped"])
        for lease, outcome in not_done:
            if outcome.kind == "deferred":
                await self._defer(lease, outcome)
            elif outcome.kind in _REASONS:
                await self._nack(lease, outcome)
        acks, self._done = self._done[: self._options.ack_batch], self._done[self._options.ack_batch :]
        if self._done:
            self._due.set()  # the remaining acks have waited long enough
        await self._ack(acks)

    async def _ack(self, done: list[tuple[Lease, Outcome]]) -> None:
        if not done:
            return
        leases = [lease for lease, _ in done]
        handles = [lease.handle for lease in leases]
        results = [outcome.result for _, outcome in done]
        acked = await _ask("ack", lambda: self._client.ack_batch(handles, results=results))
        if acked is None and any(result is not None for result in results):  # one wrong result must not stop all acks
            acked = await _ask("ack without results", lambda: self._client.ack_batch(handles))
        self._leases.drop(leases)
        for lease in leases:
            if acked is not None and not acked[lease.handle]:
                logger.warning(
                    "Message %d was done, but its lease was no longer held", lease.message.id, extra=self._about(lease)
                )

    async def _give_back(self, leases: list[Lease]) -> None:
        if not leases:
            return
        handles = [lease.handle for lease in leases]
        await _ask("give back", lambda: self._client.change_visibility_batch(handles, 0))
        self._leases.drop(leases)
        logger.info("Gave back %d messages", len(leases), extra={"queue": self._options.queue})

    async def _defer(self, lease: Lease, outcome: Outcome) -> None:
        seconds = outcome.delay_seconds or 0.0
        due_at = await _ask("defer", lambda: self._client.defer(lease.message, seconds, state=outcome.state))
        self._leases.drop([lease])
        until = f"until {due_at.isoformat()}" if due_at else "(lease lost)"
        about = self._about(lease) | {"outcome": outcome.kind}
        logger.info("Message %d deferred %s", lease.message.id, until, extra=about)

    async def _nack(self, lease: Lease, outcome: Outcome) -> None:
        def call() -> Awaitable[NackOutcome | None]:
            return self._client.nack(
                lease.message,
                delay_seconds=outcome.delay_seconds,
                error_class=outcome.error_class,
                error=outcome.error,
                details=outcome.details,
                reason=_REASONS[outcome.kind],
                state=outcome.state,
            )

        result = await _ask("nack", call)
        self._leases.drop([lease])
        logger.warning(
            "Message %d %s (%s): %s",
            *(lease.message.id, outcome.kind, result or "lease lost", outcome.error_class),
            extra=self._about(lease) | {"outcome": outcome.kind, "error_class": outcome.error_class},
        )

    def _about(self, lease: Lease) -> dict[str, object]:
        """The facts of a message for logs: never its payload, nor an error's message, which may quote it."""
        message = lease.message
        return {
            "queue": lease.queue,
            "message_id": message.id,
            "receive_count": message.receive_count,
            "trace_id": message.trace_id,
            "correlation_id": message.correlation_id,
        }


async def _ask(action: str, call: Callable[[], Awaitable[T]]) -> T | None:
    """Repeat a call until there is an answer. After a refusal the lease ends by itself: no message is lost."""
    try:
        return await persist(action, call)
    except SignalboxError:
        logger.exception("Could not %s: the call was refused", action)
        return None
