"""Holdings of a worker, by cell: leases, and outcomes to record. A silent cell does not delay the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from itertools import chain
from typing import Any

from signalbox.messages import Message
from signalbox.worker.handlers.outcomes import Outcome
from signalbox.worker.leases import Lease, Leases
from signalbox.worker.options import Options
from signalbox.worker.outages import happens
from signalbox.worker.settlement import Settlement
from signalbox.worker.sources import Source


class Holdings:
    """The leases of a worker and their settlement, separately for each cell. A database or a server is one cell.

    `relieved` is called after each round of settlements; `spawn` starts a task whose failure ends the worker.
    """

    def __init__(
        self,
        source: Source,
        options: Options,
        relieved: Callable[[], None],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._source = source
        self._options = options
        self._relieved = relieved
        self._spawn = spawn
        self._cells: dict[str, tuple[Leases, Settlement]] = {}
        #: Extend and settle until they are cancelled.
        self.tasks: list[asyncio.Task[None]] = []

    def __iter__(self) -> Iterator[Lease]:
        return chain.from_iterable(leases for leases, _ in self._cells.values())

    @property
    def pending(self) -> int:
        """The number of outcomes that wait for their call."""
        return sum(settlement.pending for _, settlement in self._cells.values())

    def add(self, messages: Iterable[Message], queue: str) -> list[Lease]:
        """Hold the leases of messages that were received from a queue."""
        by_cell: dict[str, list[Message]] = {}
        for message in messages:
            by_cell.setdefault(self._source.cell_of(message.receipt_handle), []).append(message)
        return [lease for cell, part in by_cell.items() for lease in self._at(cell)[0].add(part, queue)]

    def settle(self, lease: Lease, outcome: Outcome) -> None:
        """Record the outcome soon."""
        _, settlement = self._at(self._source.cell_of(lease.handle))
        settlement.settle(lease, outcome)

    def hurry(self) -> None:
        """Let no further ack wait for others."""
        for _, settlement in self._cells.values():
            settlement.hurry()

    async def settled(self, within: float) -> None:
        """Wait until every outcome is recorded, at most `within` seconds."""
        await asyncio.gather(*(happens(settlement.idle, within) for _, settlement in self._cells.values()))

    def _at(self, cell: str) -> tuple[Leases, Settlement]:
        if cell not in self._cells:
            leases = Leases(self._source.heartbeats, self._options.heartbeat)
            settlement = Settlement(self._source.settlements, leases, self._options, self._relieved)
            self._cells[cell] = leases, settlement
            self.tasks += [self._spawn(leases.keep()), self._spawn(settlement.work())]
        return self._cells[cell]
