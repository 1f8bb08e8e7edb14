"""The client of a fleet: the verbs of any client, each carried out by the cells that it concerns.

It keeps a map for each queue, and reads it again when a cell refuses a message that another cell takes. The cell
decides, not the map: an old map costs one more round trip, and no message goes to two cells.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack

from signalbox.calls import queues, receiving, sending, settling
from signalbox.calls.call import Call, Function, T, handles_of, only_value
from signalbox.calls.queues import QueueInfo
from signalbox.calls.sending import BatchOptions, Refused, SendOptions, Sent
from signalbox.calls.settling import NackOptions
from signalbox.client import Client
from signalbox.connections.reconnect import jittered
from signalbox.connections.unavailable import Unavailable
from signalbox.errors import InvalidArgument, Moved, PartlySent, SignalboxError
from signalbox.fleet.map import QueueMap, address_of, cell_and_handle, handle_at, map_of, part_of
from signalbox.messages import AckedAndReceived, Message, NackOutcome, Outcome, handle_of
from signalbox.payloads.bodies import BodyStore
from signalbox.verbs import Verbs

#: Seconds for which a send is repeated while a part of its queue moves to another cell.
MOVE_SECONDS = 10.0
#: Seconds for which a receive leaves out a cell that did not answer.
SILENT_SECONDS = 5.0
#: The longest wait at one cell of several, in seconds: the others may have a message.
TURN_SECONDS = 0.25
#: Seconds after which a map is read again, so that a receive finds the cells that a queue was placed on.
MAP_SECONDS = 10.0
#: Seconds between two attempts where a cell's copy of the directory is older than the map.
BEHIND_SECONDS = 0.05

fleet_map: Function[Any] = Function("fleet_map", "queue text", only_value)


class FleetClient(Verbs):
    """The verbs of Signalbox over all cells of a fleet, given the address of one of them.

    A message with a group or deduplication id goes to the cell that takes its part of the queue, any other to one of
    the queue's cells. `receive` asks all of them in turn; a receipt handle names its cell. Cells that do not answer are
    left out of a receive. Verbs of streams and lists of queues use only the cell of the given address.
    """

    def __init__(self, seed: str, *, bodies: BodyStore | None = None, **connect_options: Any) -> None:
        self._seed = seed
        self._bodies = bodies
        self._connect_options = connect_options
        self._first = Client(seed, bodies=bodies, **connect_options)
        self._clients: dict[str, Client] = {}
        self._urls: dict[str, str] = {}
        self._maps: dict[str, tuple[QueueMap, float]] = {}
        self._silent: dict[str, float] = {}
        self._turns = itertools.count()

    def close(self) -> None:
        """Close the connections to all cells. A later call opens others."""
        self._first.close()
        for client in self._clients.values():
            client.close()

    def send(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> int:
        """Send one message to the cell that takes it; returns its id there. Tries again if the part has moved."""
        return self._send_one(sending.send(queue, payload, options))

    def send_counted(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> Sent:
        """Send one message to the cell that takes it; returns its id, and how many wait in its message group there."""
        return self._send_one(sending.send_counted(queue, payload, options))

    def send_batch(self, queue: str, payloads: Sequence[object], **options: Unpack[BatchOptions]) -> list[int]:
        """Send many messages; returns their ids in the order of the payloads. In each cell all or none are sent.

        Raises `PartlySent` when some cells took their messages and another did not.
        """
        return self._send_all(sending.send_batch(queue, payloads, options))

    def send_each(self, queue: str, messages: Sequence[tuple[object, SendOptions]]) -> list[int | Refused]:
        """Send messages one by one; returns for each its id, or the error that `send` raises."""
        results: list[int | Refused] = []
        for payload, options in messages:
            try:
                results.append(self.send(queue, payload, **options))
            except SignalboxError as refusal:
                results.append(refusal)
        return results

    def _send_one(self, call: Call[T]) -> T:
        """Send one message to its cell, and again where it has moved."""
        queue, attempts = call.parameters["queue"], _Attempts()
        while True:
            where = self._map(queue)
            client = self._at(where.cell_of(call.parameters))
            try:
                return client._send(call)
            except Moved as refusal:
                time.sleep(attempts.pause(refusal, where))
                self._learn(queue, refusal)

    def _send_all(self, call: Call[list[int]]) -> list[int]:
        """Send each part of a batch to its cell, and again what was refused because it has moved."""
        queue, count = call.parameters["queue"], len(call.parameters["payloads"])
        ids: list[int | None] = [None] * count
        left = list(range(count))
        attempts = _Attempts()
        try:
            while left:
                left, refusal = self._send_parts(call, left, ids)
                if refusal is not None:
                    time.sleep(attempts.pause(refusal, self._maps[queue][0]))
                    self._learn(queue, refusal)
        except (SignalboxError, Unavailable) as error:
            if any(sent is not None for sent in ids):
                raise PartlySent(ids=ids) from error
            raise
        return [sent for sent in ids if sent is not None]

    def _send_parts(
        self, call: Call[list[int]], left: Sequence[int], ids: list[int | None]
    ) -> tuple[list[int], Moved | None]:
        """Send these messages and enter their ids; returns those that another cell takes now, with the refusal."""
        moved: list[int] = []
        refusal: Moved | None = None
        where = self._map(call.parameters["queue"])
        for cell, part in where.split(call.parameters, left).items():
            client = self._at(cell)
            try:
                sent = client._send(replace(call, parameters=part_of(call.parameters, part)))
            except Moved as error:
                moved, refusal = moved + part, error
                continue
            for index, message_id in zip(part, sent, strict=True):
                ids[index] = message_id
        return moved, refusal

    def receive(
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
        messages = self._gather(queue, call, 0.0)
        while not messages and (left := ends_at - time.monotonic()) > 0:
            messages = self._gather(queue, call, min(left, jittered(TURN_SECONDS)))
        return self._received(queue, messages, began_ns)

    def _gather(self, queue: str, call: Call[list[Message]], wait_seconds: float) -> list[Message]:
        """Ask one cell after the other: each for its share, and in a second round for what is still wanted."""
        wanted = call.parameters["max_messages"]
        cells = self._answering(self._map(queue).holders)
        messages: list[Message] = []
        for turn, cell in enumerate([*cells, *cells] if wanted > 1 else cells):
            left = wanted - len(messages)
            share = left if turn >= len(cells) else -(-left // (len(cells) - turn))
            if share > 0 and not (turn >= len(cells) and not messages):
                messages += self._claim(cell, call, share, 0.0 if messages else wait_seconds, len(cells))
        return messages

    def _claim(
        self, cell: str, call: Call[list[Message]], count: int, wait_seconds: float, cells: int
    ) -> list[Message]:
        """Claim messages of one cell; none of a cell that is silent, unless it is the only one."""
        wait = replace(call.wait, seconds=wait_seconds) if call.wait else None
        claim = replace(call, parameters={**call.parameters, "max_messages": count}, wait=wait)
        try:
            client = self._at(cell)
            messages = client._run(claim)
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

    def ack(self, receipt: Message | str, *, result: object = None) -> bool:
        """Settle a message as done, in the cell that its handle names, as any client does."""
        handle = handle_of(receipt)
        return (self.ack_batch([handle], results=[result]))[handle]

    def ack_batch(
        self, receipts: Iterable[Message | str], *, results: Sequence[object] | None = None
    ) -> dict[str, bool]:
        """Settle many messages as done, with one call for each cell; returns for each handle what `ack` returns."""
        handles = handles_of(receipts)
        acked: dict[str, bool] = {}
        for cell, part in _by_cell(handles).items():
            call = settling.ack(list(part.values()), None if results is None else [results[index] for index in part])
            client = self._at(cell)
            answers = client._run(call)
            acked |= {handles[index]: answers[handle] for index, handle in part.items()}
        return acked

    def ack_and_receive(
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
        acked = self.ack_batch(receipts)
        messages = self.receive(
            queue,
            max_messages,
            visibility_timeout=visibility_timeout,
            consumer=consumer,
            allow_open_transaction=allow_open_transaction,
        )
        return AckedAndReceived(acked, messages)

    def nack(self, receipt: Message | str, **options: Unpack[NackOptions]) -> NackOutcome | None:
        """Record a failed delivery, in the cell that its handle names, as any client does."""
        cell, handle = cell_and_handle(handle_of(receipt))
        return self._on(cell, settling.nack(handle, options))

    def nack_batch(self, nacks: Iterable[tuple[Message | str, NackOptions]]) -> list[NackOutcome | None]:
        """Record many failed deliveries, with one call for each cell; returns for each what `nack` returns."""
        given = list(nacks)
        outcomes: list[NackOutcome | None] = [None] * len(given)
        for cell, part in _by_cell(handles_of(receipt for receipt, _ in given)).items():
            call = settling.nack_batch([(handle, given[index][1]) for index, handle in part.items()])
            answers = self._on(cell, call)
            for index, outcome in zip(part, answers, strict=True):
                outcomes[index] = outcome
        return outcomes

    def defer(self, receipt: Message | str, delay_seconds: float, *, state: object = None) -> datetime | None:
        """Put a message off, in the cell that its handle names, as any client does."""
        cell, handle = cell_and_handle(handle_of(receipt))
        return self._on(cell, settling.defer(handle, delay_seconds, state))

    def change_visibility(self, receipt: Message | str, seconds: float) -> datetime | None:
        """Let the lease end `seconds` from now, in the cell that its handle names, as any client does."""
        handle = handle_of(receipt)
        return (self.change_visibility_batch([handle], seconds))[handle]

    def change_visibility_batch(self, receipts: Iterable[Message | str], seconds: float) -> dict[str, datetime | None]:
        """Let many leases end `seconds` from now, with one call for each cell."""
        handles = handles_of(receipts)
        deadlines: dict[str, datetime | None] = {}
        for cell, part in _by_cell(handles).items():
            answers = self._on(cell, settling.change_visibility(list(part.values()), seconds))
            deadlines |= {handles[index]: answers[handle] for index, handle in part.items()}
        return deadlines

    def message_outcome(self, message_id: int) -> Outcome | None:
        """Refuse: two cells may have a message of the same id. Raises InvalidArgument."""
        raise InvalidArgument(_ID_OF_ONE_CELL, field="message_id")

    def wait_settled(self, message_id: int, timeout: float | None = None) -> Outcome:
        """Refuse: two cells may have a message of the same id. Raises InvalidArgument."""
        raise InvalidArgument(_ID_OF_ONE_CELL, field="message_id")

    def configure_queue(self, name: str, settings: Mapping[str, object]) -> int:
        """Change the named settings of a queue in each of its cells; returns its id in the last one."""
        queue_id = 0
        for cell in self._map(name).holders:
            queue_id = self._on(cell, queues.configure_queue(name, settings))
        return queue_id

    def describe_queue(self, name: str) -> QueueInfo:
        """Describe a queue as one of its cells does, with the messages of all its cells."""
        parts: list[QueueInfo] = []
        for cell in self._map(name).holders:
            parts.append(self._on(cell, queues.describe_queue(name)))  # noqa: PERF401 - the twin awaits
        return _together(parts)

    def announce_consumer(self, queue: str, consumer: str, details: Mapping[str, object]) -> None:
        """Announce a consumer in each cell of the queue that answers."""
        holders = self._map(queue).holders
        for cell in self._answering(holders):
            try:
                self._on(cell, queues.announce_consumer(queue, consumer, details))
            except Unavailable as error:
                self._leave_out(cell, error, len(holders))

    def _run(self, call: Call[T]) -> T:
        """Carry out a call that no verb here divides, in the cell of the address."""
        client = self._first
        return client._run(call)

    def _on(self, cell: str, call: Call[T]) -> T:
        client = self._at(cell)
        return client._run(call)

    def _at(self, cell: str) -> Client:
        """The client of one cell."""
        if cell not in self._clients:
            if cell not in self._urls:
                self._read_map("")
            if cell not in self._urls:
                raise InvalidArgument(f"receipt_handle names the cell {cell[:80]!r}: the fleet has none", field="cell")
            address = address_of(self._seed, self._urls[cell])
            self._clients[cell] = Client(address, bodies=self._bodies, **self._connect_options)
        return self._clients[cell]

    def _map(self, queue: str) -> QueueMap:
        """The map of a queue, read again from time to time."""
        known = self._maps.get(queue)
        if known is None or known[1] < time.monotonic():
            return self._read_map(queue)
        return known[0]

    def _read_map(self, queue: str) -> QueueMap:
        """Read the map of a queue from the first cell that answers, and keep the newer of this and the known one."""
        document = self._ask(fleet_map(queue))
        newest, urls = map_of(document)
        known = self._maps.get(queue)
        if known is not None and known[0].version > newest.version:
            newest = known[0]
        self._urls |= urls
        self._maps[queue] = newest, time.monotonic() + MAP_SECONDS
        return newest

    def _ask(self, call: Call[T]) -> T:
        """Ask the cell of the address; when it is silent, the other cells that are known."""
        outage: Unavailable | None = None
        for client in [self._first, *self._clients.values()]:
            try:
                return client._run(call)
            except Unavailable as error:
                outage = outage or error
        raise outage or Unavailable

    def _learn(self, queue: str, refusal: Moved) -> None:
        """Read the map again after a refusal, from every cell that it concerns, and keep the newest."""
        for cell in dict.fromkeys([refusal.cell, *self._maps[queue][0].holders]):
            if cell is not None:
                self._learn_of(queue, cell)

    def _learn_of(self, queue: str, cell: str) -> None:
        try:
            newest, urls = map_of(self._on(cell, fleet_map(queue)))
        except (Unavailable, SignalboxError):
            return
        self._urls |= urls
        if newest.version >= self._maps[queue][0].version:
            self._maps[queue] = newest, time.monotonic() + MAP_SECONDS


class _Attempts:
    """The attempts of one send: repeated once after a refusal, and for a while where no cell takes the part yet."""

    def __init__(self) -> None:
        self._repeated = False
        self._ends_at = time.monotonic() + MOVE_SECONDS

    def pause(self, refusal: Moved, known: QueueMap) -> float:
        """Seconds until the next attempt. Raises the refusal if the send was repeated already, or the time is over."""
        is_behind = refusal.version < known.version
        if refusal.retry_after is not None or is_behind:
            if time.monotonic() > self._ends_at:
                raise refusal
            return jittered(refusal.retry_after or BEHIND_SECONDS)
        if self._repeated:
            raise refusal
        self._repeated = True
        return 0.0


_ID_OF_ONE_CELL = "message_id is of one cell, and others may have the same: ask a client of that cell"


def _by_cell(handles: Sequence[str]) -> dict[str, dict[int, str]]:
    """Group handles by cell: the handle that the cell itself gave, by the index among all handles."""
    parts: dict[str, dict[int, str]] = {}
    for index, receipt_handle in enumerate(handles):
        cell, handle = cell_and_handle(receipt_handle)
        parts.setdefault(cell, {})[index] = handle
    return parts


def _together(parts: Sequence[QueueInfo]) -> QueueInfo:
    """One description of a queue in several cells: messages are added up, and the oldest message counts."""
    messages = Counter[str]()
    for part in parts:
        messages.update(part.messages or {})
    ages = [part.oldest_visible_seconds for part in parts if part.oldest_visible_seconds is not None]
    return replace(parts[0], messages=dict(messages), oldest_visible_seconds=max(ages, default=None))
