"""Telling the database how runs ended. Acks that come up while a call is under way go together in the next."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from signalbox.async_client import AsyncClient
from signalbox.errors import SignalboxError
from signalbox.messages import FailureReason, NackOutcome
from signalbox.worker.leases import Lease, Leases
from signalbox.worker.outages import persist
from signalbox.worker.outcomes import Kind, Outcome

T = TypeVar("T")

_REASONS: dict[Kind, FailureReason] = {
    "failed": "runtime_error",
    "retry": "runtime_error",
    "rejected": "rejected",
    "timed_out": "lock_expired",
}

logger = logging.getLogger(__name__)


class Settlement:
    """Settles leases in the order in which their runs ended, whatever the state of the database."""

    def __init__(self, client: AsyncClient, leases: Leases) -> None:
        self._client = client
        self._leases = leases
        self._pending: list[tuple[Lease, Outcome]] = []
        self._wanted = asyncio.Event()
        #: Set while there is nothing left to settle.
        self.idle = asyncio.Event()
        self.idle.set()

    def settle(self, lease: Lease, outcome: Outcome) -> None:
        """Have the outcome recorded soon. A lease that is lost has nothing to settle."""
        lease.finished = True
        if not lease.lost:
            self._pending.append((lease, outcome))
            self.idle.clear()
            self._wanted.set()

    async def work(self) -> None:
        """Settle what comes, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            pending, self._pending = self._pending, []
            await self._ack([lease for lease, outcome in pending if outcome.kind == "done"])
            await self._give_back([lease for lease, outcome in pending if outcome.kind == "stopped"])
            for lease, outcome in pending:
                if outcome.kind in _REASONS:
                    await self._nack(lease, outcome)
            if not self._pending:
                self.idle.set()

    async def _ack(self, leases: list[Lease]) -> None:
        if not leases:
            return
        handles = [lease.handle for lease in leases]
        acked = await _ask("ack", lambda: self._client.ack_batch(handles))
        self._leases.drop(leases)
        for lease in leases:
            if acked is not None and not acked[lease.handle]:
                logger.warning("Message %d was done, but its lease was no longer held", lease.message.id)

    async def _give_back(self, leases: list[Lease]) -> None:
        if not leases:
            return
        handles = [lease.handle for lease in leases]
        await _ask("give back", lambda: self._client.change_visibility_batch(handles, 0))
        self._leases.drop(leases)
        logger.info("Gave back %d messages", len(leases))

    async def _nack(self, lease: Lease, outcome: Outcome) -> None:
        def call() -> Awaitable[NackOutcome | None]:
            return self._client.nack(
                lease.message,
                delay_seconds=outcome.delay_seconds,
                error_class=outcome.error_class,
                error=outcome.error,
                details=outcome.details,
                reason=_REASONS[outcome.kind],
            )

        fate = await _ask("nack", call)
        self._leases.drop([lease])
        logger.warning(
            "Message %d %s (%s): %s: %s",
            *(lease.message.id, outcome.kind, fate or "lease lost", outcome.error_class, outcome.error),
        )


async def _ask(what: str, call: Callable[[], Awaitable[T]]) -> T | None:
    """Ask until there is an answer. What is refused is left to the end of its lease: the message is not lost."""
    try:
        return await persist(what, call)
    except SignalboxError:
        logger.exception("Could not %s: the database refused", what)
        return None
