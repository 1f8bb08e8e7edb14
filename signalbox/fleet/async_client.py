# Generated from signalbox/fleet/client.py by `make generate`: change that file, then generate this one.
"""The asyncio twin of `signalbox.fleet.client`."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack

from signalbox.async_client import AsyncClient
from signalbox.async_verbs import AsyncVerbs
from signalbox.calls import queues, receiving, sending, settling
from signalbox.calls.call import Call, Function, T, handles_of, only_value
from signalbox.calls.queues import QueueInfo
from signalbox.calls.sending import BatchOptions, Refused, SendOptions, Sent
from signalbox.calls.settling import NackOptions
from signalbox.connections.reconnect import jittered
from signalbox.connections.unavailable import Unavailable
from signalbox.errors import InvalidArgument, Moved, PartlySent, SignalboxError
from signalbox.fleet.client import (
    _ID_OF_ONE_CELL,
    MAP_SECONDS,
    SILENT_SECONDS,
    TURN_SECONDS,
    _Attempts,
    _by_cell,
    _together,
)
from signalbox.fleet.map import QueueMap, address_of, cell_and_handle, handle_at, map_of, part_of
from signalbox.messages import AckedAndReceived, Message, NackOutcome, Outcome, handle_of
from signalbox.payloads.bodies import BodyStore

fleet_map: Function[Any] = Function("fleet_map", "queue text", only_value)


class AsyncFleetClient(AsyncVerbs):
    """The verbs of Signalbox over all cells of a fleet, given the address of one of them.

    A message with a group or deduplication id goes to the cell that takes its part of the queue, any other to one of
    the queue's cells. `receive` asks all of them in turn; a receipt handle names its cell. Cells that do not answer are
    left out of a receive. Verbs of streams and lists of queues use only the cell of the given address.
    """

    def __init__(self, seed: str, *, bodies: BodyStore | None = None, **connect_options: Any) -> None:
        self._seed = seed
        self._bodies = bodies
        self._connect_options = connect_options
        self._first = AsyncClient(seed, bodies=bodies, **connect_options)
        self._clients: dict[str, AsyncClient] = {}
        self._urls: dict[str, str] = {}
        self._maps: dict[str, tuple[QueueMap, float]] = {}
        self._silent: dict[str, float] = {}
        self._turns = itertools.count()

    async def close(self) -> None:
        """Close the connections to all cells. A later call opens others."""
        await self._first.close()
        for client in self._clients.values():
            await client.close()

    async def send(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> int:
        """Send one message to the cell that takes it; returns its id there. Tries again if the part has moved."""
        return await self._send_one(sending.send(queue, payload, options))

    async def send_counted(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> Sent:
        """Send one message to the cell that takes it; returns its id, and how many wait in its message group there."""
        return await self._send_one(sending.send_counted(queue, payload, options))

    async def send_batch(self, queue: str, payloads: Sequence[object], **options: Unpack[BatchOptions]) -> list[int]:
        """Send many messages; returns their ids in the order of the payloads. In each cell all or none are sent.

        Raises `PartlySent` when some cells took their messages and another did not.
        """
        return await self._send_all(sending.send_batch(queue, payloads, options))

    async def send_each(self, queue: str, messages: Sequence[tuple[object, SendOptions]]) -> list[int | Refused]:
        """Send messages one by one; returns for each its id, or the error that `send` raises."""
        results: list[int | Refused] = []
        for payload, options in messages:
            try:
                results.append(await self.send(queue, payload, **options))
            except SignalboxError as refusal:
                results.append(refusal)
        return results

    async def _send_one(self, call: Call[T]) -> T:
        """Send one message to its cell, and again where it has moved."""
        queue, attempts = call.parameters["queue"], _Attempts()
        while True:
            where = await self._map(queue)
            client = await self._at(where.cell_of(call.parameters))
            try:
                return await client._send(call)
            except Moved as refusal:
                await asyncio.sleep(attempts.pause(refusal, where))
                await self._learn(queue, refusal)

    async def _send_all(self, call: Call[list[int]]) -> list[int]:
        """Send each part of a batch to its cell, and again what was refused because it has moved."""
        queue, count = call.parameters["queue"], len(call.parameters["payloads"])
        ids: list[int | None] = [None] * count
        left = list(range(count))
        attempts = _Attempts()
        try:
            while left:
                left, refusal = await self._send_parts(call, left, ids)
                if refusal is not None:
                    await asyncio.sleep(attempts.pause(refusal, self._maps[queue][0]))
                    await self._learn(queue, refusal)
        except (SignalboxError, Unavailable) as error:
            if any(sent is not None for sent in ids):
                raise PartlySent(ids=ids) from error
            raise
        return [sent for sent in ids if sent is not None]

    async def _send_parts(
        self, call: Call[list[int]], left: Sequence[int], ids: list[int | None]
    ) -> tuple[list[int], Moved | None]:
        """Send these messages and enter their ids; returns those that another cell takes now, with the refusal."""
        moved: list[int] = []
        refusal: Moved | None = None
        where = await self._map(call.parameters["queue"])
        for cell, part in where.split(call.parameters, left).items():
            client = await self._at(cell)
            try:
                sent = await client._send(replace(call, parameters=part_of(call.parameters, part)))
            except Moved as error:
                moved, refusal = moved + part, error
                continue
            for index, message_id in zip(part, sent, strict=True):
                ids[index] = message_id
        return moved, refusal

    async def receive(
        self,
        queue: str,
        max_messages: int = 1,
        *,
        visibility_timeout: float | None = None,
        consumer: str | None = None,
        durable: bool = True,
        allow_open_transaction: bool = False,
        wait_seconds: float = 0.0,
    ) -> list[Message]:
        """Lease up to `max_messages` messages from the cells of the queue, which take turns in being asked first.

        With `wait_seconds` it waits at each cell in turn. Raises the error of a silent cell only if all are silent.
        """
        began_ns = time.time_ns()
        call = receiving.receive(
            queue, max_messages, visibility_timeout, consumer, durable, allow_open_transaction, wait_seconds
        )
        ends_at = time.monotonic() + wait_seconds
        messages = await self._gather(queue, call, 0.0)
        while not messages and (left := ends_at - time.monotonic()) > 0:
            messages = await self._gather(queue, call, min(left, jittered(TURN_SECONDS)))
        return self._received(queue, messages, began_ns)

    async def _gather(self, queue: str, call: Call[list[Message]], wait_seconds: float) -> list[Message]:
        """Ask one cell after the other: each for its share, and in a second round for what is still wanted."""
        wanted = call.parameters["max_messages"]
        cells = self._answering((await self._map(queue)).holders)
        messages: list[Message] = []
        for turn, cell in enumerate([*cells, *cells] if wanted > 1 else cells):
            left = wanted - len(messages)
            share = left if turn >= len(cells) else -(-left // (len(cells) - turn))
            if share > 0 and not (turn >= len(cells) and not messages):
                messages += await self._claim(cell, call, share, 0.0 if messages else wait_seconds, len(cells))
        return messages

    async def _claim(
        self, cell: str, call: Call[list[Message]], count: int, wait_seconds: float, cells: int
    ) -> list[Message]:
        """Claim messages of one cell; none of a cell that is silent, unless it is the only one."""
        wait = replace(call.wait, seconds=wait_seconds) if call.wait else None
        claim = replace(call, parameters={**call.parameters, "max_messages": count}, wait=wait)
        try:
            client = await self._at(cell)
            messages = await client._run(claim)
        except Unavailable as error:
            self._leave_out(cell, error, cells)
            return []
        return [replace(message, receipt_handle=handle_at(cell, message.receipt_handle)) for message in messages]

    def _leave_out(self, cell: str, error: Unavailable, cells: int) -> None:
        """Leave a silent cell out for a while. Raises the error of the cell if the queue has no other cell."""
        self._silent[cell] = time.monotonic() + SILENT_SECONDS
        if cells == 1:
            raise error

    def _answering(self, cells: Sequence[str]) -> list[str]:
        """The cells in the order in which this receive asks them, without those that were silent a moment ago."""
        now = time.monotonic()
        known = [cell for cell in cells if self._silent.get(cell, 0.0) < now] or list(cells)
        first = next(self._turns) % len(known)
        return known[first:] + known[:first]

    async def ack(self, receipt: Message | str, *, result: object = None) -> bool:
        """Settle a message as done, in the cell that its handle names, as any client does."""
        handle = handle_of(receipt)
        return (await self.ack_batch([handle], results=[result]))[handle]

    async def ack_batch(
        self, receipts: Iterable[Message | str], *, results: Sequence[object] | None = None
    ) -> dict[str, bool]:
        """Settle many messages as done, with one call for each cell; returns for each handle what `ack` returns."""
        handles = handles_of(receipts)
        acked: dict[str, bool] = {}
        for cell, part in _by_cell(handles).items():
            call = settling.ack(list(part.values()), None if results is None else [results[index] for index in part])
            client = await self._at(cell)
            answers = await client._run(call)
            acked |= {handles[index]: answers[handle] for index, handle in part.items()}
        return acked

    async def ack_and_receive(
        self,
        receipts: Iterable[Message | str],
        queue: str,
        max_messages: int = 1,
        *,
        visibility_timeout: float | None = None,
        consumer: str | None = None,
        allow_open_transaction: bool = False,
    ) -> AckedAndReceived:
        """Settle messages as done, then lease the next: two steps, since the cells may differ."""
        acked = await self.ack_batch(receipts)
        messages = await self.receive(
            queue,
            max_messages,
            visibility_timeout=visibility_timeout,
            consumer=consumer,
            allow_open_transaction=allow_open_transaction,
        )
        return AckedAndReceived(acked, messages)

    async def nack(self, receipt: Message | str, **options: Unpack[NackOptions]) -> NackOutcome | None:
        """Record a failed delivery, in the cell that its handle names, as any client does."""
        cell, handle = cell_and_handle(handle_of(receipt))
        return await self._on(cell, settling.nack(handle, options))

    async def nack_batch(self, nacks: Iterable[tuple[Message | str, NackOptions]]) -> list[NackOutcome | None]:
        """Record many failed deliveries, with one call for each cell; returns for each what `nack` returns."""
        given = list(nacks)
        outcomes: list[NackOutcome | None] = [None] * len(given)
        for cell, part in _by_cell(handles_of(receipt for receipt, _ in given)).items():
            call = settling.nack_batch([(handle, given[index][1]) for index, handle in part.items()])
            answers = await self._on(cell, call)
            for index, outcome in zip(part, answers, strict=True):
                outcomes[index] = outcome
        return outcomes

    async def defer(self, receipt: Message | str, delay_seconds: float, *, state: object = None) -> datetime | None:
        """Put a message off, in the cell that its handle names, as any client does."""
        cell, handle = cell_and_handle(handle_of(receipt))
        return await self._on(cell, settling.defer(handle, delay_seconds, state))

    async def change_visibility(self, receipt: Message | str, seconds: float) -> datetime | None:
        """Let the lease end `seconds` from now, in the cell that its handle names, as any client does."""
        handle = handle_of(receipt)
        return (await self.change_visibility_batch([handle], seconds))[handle]

    async def change_visibility_batch(
        self, receipts: Iterable[Message | str], seconds: float
    ) -> dict[str, datetime | None]:
        """Let many leases end `seconds` from now, with one call for each cell."""
        handles = handles_of(receipts)
        deadlines: dict[str, datetime | None] = {}
        for cell, part in _by_cell(handles).items():
            answers = await self._on(cell, settling.change_visibility(list(part.values()), seconds))
            deadlines |= {handles[index]: answers[handle] for index, handle in part.items()}
        return deadlines

    async def message_outcome(self, message_id: int) -> Outcome | None:
        """Refuse: two cells may have a message of the same id. Raises InvalidArgument."""
        raise InvalidArgument(_ID_OF_ONE_CELL, field="message_id")

    async def wait_settled(self, message_id: int, timeout: float | None = None) -> Outcome:
        """Refuse: two cells may have a message of the same id. Raises InvalidArgument."""
        raise InvalidArgument(_ID_OF_ONE_CELL, field="message_id")

    async def configure_queue(self, name: str, settings: Mapping[str, object]) -> int:
        """Change the named settings of a queue in each of its cells; returns its id in the last one."""
        queue_id = 0
        for cell in (await self._map(name)).holders:
            queue_id = await self._on(cell, queues.configure_queue(name, settings))
        return queue_id

    async def describe_queue(self, name: str) -> QueueInfo:
        """Describe a queue as one of its cells does, with the messages of all its cells."""
        parts: list[QueueInfo] = []
        for cell in (await self._map(name)).holders:
            parts.append(await self._on(cell, queues.describe_queue(name)))  # noqa: PERF401 - the twin awaits
        return _together(parts)

    async def announce_consumer(self, queue: str, consumer: str, details: Mapping[str, object]) -> None:
        """Announce a consumer in each cell of the queue that answers."""
        holders = (await self._map(queue)).holders
        for cell in self._answering(holders):
            try:
                await self._on(cell, queues.announce_consumer(queue, consumer, details))
            except Unavailable as error:
                self._leave_out(cell, error, len(holders))

    async def _run(self, call: Call[T]) -> T:
        """Carry out a call that no verb here divides, in the cell of the address."""
        client = self._first
        return await client._run(call)

    async def _on(self, cell: str, call: Call[T]) -> T:
        client = await self._at(cell)
        return await client._run(call)

    async def _at(self, cell: str) -> AsyncClient:
        """The client of one cell."""
        if cell not in self._clients:
            if cell not in self._urls:
                await self._read_map("")
            if cell not in self._urls:
                raise InvalidArgument(f"receipt_handle names the cell {cell[:80]!r}: the fleet has none", field="cell")
            address = address_of(self._seed, self._urls[cell])
            self._clients[cell] = AsyncClient(address, bodies=self._bodies, **self._connect_options)
        return self._clients[cell]

    async def _map(self, queue: str) -> QueueMap:
        """The map of a queue, read again from time to time."""
        known = self._maps.get(queue)
        if known is None or known[1] < time.monotonic():
            return await self._read_map(queue)
        return known[0]

    async def _read_map(self, queue: str) -> QueueMap:
        """Read the map of a queue from the first cell that answers, and keep the newer of this and the known one."""
        document = await self._ask(fleet_map(queue))
        newest, urls = map_of(document)
        known = self._maps.get(queue)
        if known is not None and known[0].version > newest.version:
            newest = known[0]
        self._urls |= urls
        self._maps[queue] = newest, time.monotonic() + MAP_SECONDS
        return newest

    async def _ask(self, call: Call[T]) -> T:
        """Ask the cell of the address; when it is silent, the other cells that are known."""
        outage: Unavailable | None = None
        for client in [self._first, *self._clients.values()]:
            try:
                return await client._run(call)
            except Unavailable as error:
                outage = outage or error
        raise outage or Unavailable

    async def _learn(self, queue: str, refusal: Moved) -> None:
        """Read the map again after a refusal, from every cell that it concerns, and keep the newest."""
        for cell in dict.fromkeys([refusal.cell, *self._maps[queue][0].holders]):
            if cell is not None:
                await self._learn_of(queue, cell)

    async def _learn_of(self, queue: str, cell: str) -> None:
        try:
            newest, urls = map_of(await self._on(cell, fleet_map(queue)))
        except (Unavailable, SignalboxError):
            return
        self._urls |= urls
        if newest.version >= self._maps[queue][0].version:
            self._maps[queue] = newest, time.monotonic() + MAP_SECONDS
