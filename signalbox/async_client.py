"""The verbs over an asynchronous psycopg connection: `client.py` with awaits, and nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar, Unpack

import psycopg
from psycopg.rows import tuple_row

from signalbox import statements
from signalbox.async_connections import AsyncSource, async_connections_of, async_one_transaction
from signalbox.async_stream_client import AsyncStreamVerbs
from signalbox.bodies import BodyStore, Parcel, parcels_of, upload, with_body
from signalbox.connections import check_claim, check_wait
from signalbox.errors import translated
from signalbox.long_polls import receive_waiting_async
from signalbox.messages import AckedAndReceived, Message, NackOutcome, Outcome, handle_of
from signalbox.queue_info import QueueInfo
from signalbox.statements import BatchOptions, NackOptions, Refused, SendOptions, Statement
from signalbox.tracing import received
from signalbox.waiting import SettledWait

T = TypeVar("T")


class AsyncClient(AsyncStreamVerbs):
    """The verbs of Signalbox for asyncio.

    What is said of `Client` holds here.
    """

    def __init__(self, source: AsyncSource, *, bodies: BodyStore | None = None, **connect_options: Any) -> None:
        self._bodies = bodies
        self._connections = async_connections_of(source, connect_options)

    async def send(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> int:
        """Send one message; its id. With a deduplication id already used, the id of the first message."""
        return await self._send(statements.send(queue, payload, options))

    async def send_batch(self, queue: str, payloads: Sequence[object], **options: Unpack[BatchOptions]) -> list[int]:
        """Send many messages, all or none; their ids in the order of the payloads."""
        return await self._send(statements.send_batch(queue, payloads, options))

    async def send_each(self, queue: str, messages: Sequence[tuple[object, SendOptions]]) -> list[int | Refused]:
        """Send up to 1,000 messages, each for itself: its id, or the error that `send` would have raised for it.

        Each is a payload and what is said of it. One transaction; an unknown or closed queue is raised.
        """
        return await self._send(statements.send_each(queue, messages))

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
        """Lease up to `max_messages` messages for `visibility_timeout` seconds (None: the queue's setting).

        `durable=False` commits asynchronously, which is faster: a crash of the database may deliver the
        messages again without having counted this delivery. On a connection whose transaction would stay
        open, receive raises OpenTransaction unless `allow_open_transaction`.

        Of an empty queue it waits up to `wait_seconds` for news; a tenant with all its long polls in use
        refuses that with QuotaExceeded.
        """
        statement = statements.receive(queue, max_messages, visibility_timeout, consumer, durable=durable)

        def check(connection: psycopg.AsyncConnection[Any]) -> None:
            check_claim(connection, durable=durable, allow_open_transaction=allow_open_transaction)

        began_ns = time.time_ns()
        messages = await receive_waiting_async(
            self._connections, queue, lambda: self._run(statement, check), wait_seconds
        )
        received(queue, messages, began_ns)
        return [with_body(message, self._bodies) for message in messages]

    async def fetch(self, message: Message) -> Any:
        """The payload. That of a large message is read in a thread, where looking at it would hold up the loop."""
        return await asyncio.to_thread(lambda: message.payload) if message.body else message.payload

    async def ack(self, receipt: Message | str, *, result: object = None) -> bool:
        """The message is done with. False when its lease was no longer held: it will be delivered again.

        `result`, at most 64 KB of JSON, is kept as long as history: see `wait_settled`.
        """
        return (await self._run(statements.ack([receipt], [result])))[handle_of(receipt)]

    async def ack_batch(
        self, receipts: Iterable[Message | str], *, results: Sequence[object] | None = None
    ) -> dict[str, bool]:
        """Ack many messages in one statement; for each receipt handle what `ack` returns.

        `results` has one entry for each receipt; None keeps nothing.
        """
        return await self._run(statements.ack(receipts, results))

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
        """Ack these and receive what comes next, in one call and one commit: cheaper than one after the other.

        Both or neither is done. Otherwise as `ack_batch` and `receive`.
        """
        statement = statements.ack_and_receive(receipts, queue, max_messages, visibility_timeout, consumer)

        def check(connection: psycopg.AsyncConnection[Any]) -> None:
            check_claim(connection, durable=True, allow_open_transaction=allow_open_transaction)

        began_ns = time.time_ns()
        done = await self._run(statement, check)
        received(queue, done.messages, began_ns)
        return done._replace(messages=[with_body(message, self._bodies) for message in done.messages])

    async def nack(self, receipt: Message | str, **options: Unpack[NackOptions]) -> NackOutcome | None:
        """The delivery failed. Returns "retry" or "dead", or None when the lease was no longer held.

        `state`, at most 16 KB of JSON, is for the next delivery; without one, an earlier one stays.
        """
        return await self._run(statements.nack(receipt, options))

    async def nack_batch(self, nacks: Iterable[tuple[Message | str, NackOptions]]) -> list[NackOutcome | None]:
        """Many failed deliveries in one statement; for each receipt, in order, what `nack` returns."""
        return await self._run(statements.nack_batch(nacks))

    async def change_visibility(self, receipt: Message | str, seconds: float) -> datetime | None:
        """Let the lease end `seconds` from now; its new deadline, or None when it was no longer held.

        Zero gives the message back at once: claimable again, with no failure recorded.
        """
        return (await self._run(statements.change_visibility([receipt], seconds)))[handle_of(receipt)]

    async def change_visibility_batch(
        self, receipts: Iterable[Message | str], seconds: float
    ) -> dict[str, datetime | None]:
        """Change many leases in one statement; for each receipt handle what `change_visibility` returns."""
        return await self._run(statements.change_visibility(receipts, seconds))

    async def purge(
        self,
        queue: str,
        *,
        through_message_id: int | None = None,
        states: Sequence[str] = ("ready", "scheduled", "waiting"),
        max_messages: int = 10_000,
        keep_seconds: float = statements.TRASH_SECONDS,
    ) -> int:
        """Remove up to `max_messages` messages from the queue; returns how many. Call until it returns 0.

        The messages stay in the trash for `keep_seconds`, where an undo in the console restores them; with 0 they are
        deleted for good.
        """
        return await self._run(statements.purge(queue, through_message_id, states, max_messages, keep_seconds))

    async def message_outcome(self, message_id: int) -> Outcome | None:
        """Where the message stands and how it ended; None when nothing is known of it."""
        return await self._run(statements.message_outcome(message_id))

    async def wait_settled(self, message_id: int, timeout: float | None = None) -> Outcome:
        """Wait until the message is acked, purged, expired or dead, at most `timeout` seconds (None: for ever).

        Asks every 10 ms at first, every second in the end. Raises NotSettled, a TimeoutError, when the time
        is over, and MessageNotFound when nothing is known of the message. On a connection in a transaction
        it raises OpenTransaction: what that transaction sent, nobody can settle before it has committed.
        """
        statement, wait = statements.message_outcome(message_id), SettledWait(message_id, timeout)
        while (outcome := await self._run(statement, check_wait)) is None or outcome.outcome is None:
            await asyncio.sleep(wait.pause(outcome))
        return outcome

    async def create_queue(
        self, name: str, settings: Mapping[str, object] | None = None, *, tenant: str | None = None
    ) -> int:
        """Create a queue; its id. Repeating it with equal settings and tenant (None: any) changes nothing."""
        return await self._run(statements.create_queue(name, settings or {}, tenant))

    async def configure_queue(self, name: str, settings: Mapping[str, object]) -> int:
        """Change the settings named and leave the others; the queue's id."""
        return await self._run(statements.configure_queue(name, settings))

    async def list_queues(self, prefix: str = "") -> list[QueueInfo]:
        """The queues whose names begin so, by name, with their settings and without their numbers."""
        return await self._run(statements.list_queues(prefix))

    async def describe_queue(self, name: str) -> QueueInfo:
        """A queue with its settings, and how many messages it has where: exact, whatever their number."""
        return await self._run(statements.describe_queue(name))

    async def announce_consumer(self, queue: str, consumer: str, details: Mapping[str, object]) -> None:
        """Tell the console that this consumer of the queue is alive, and what it is."""
        await self._run(statements.announce_consumer(queue, consumer, details))

    async def close(self) -> None:
        """Close the client's own connection, if it has one. A later call opens another."""
        await self._connections.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, statement: Statement[T]) -> T:
        parcels = parcels_of(statements.payloads_of(statement), self._bodies) if self._bodies is not None else {}
        if not parcels:
            return await self._run(statement)
        pointing = statements.with_bodies(statement, {place: parcel.sha256 for place, parcel in parcels.items()})
        return await self._send_large(pointing, {parcel.sha256: parcel for parcel in parcels.values()})

    async def _send_large(self, statement: Statement[T], parcels: dict[str, Parcel]) -> T:
        """Claim each body, in the order in which all do, upload it, and send: in one transaction."""
        assert self._bodies is not None  # noqa: S101 - else there are no parcels
        with translated():
            async with self._connections.borrow() as connection, async_one_transaction(connection):
                for sha256, parcel in sorted(parcels.items()):
                    await self._ask(connection, statements.claim_body(sha256, len(parcel.content)))
                    await asyncio.to_thread(upload, parcel, self._bodies)
                return await self._ask(connection, statement)

    async def _run(
        self, statement: Statement[T], check: Callable[[psycopg.AsyncConnection[Any]], None] | None = None
    ) -> T:
        with translated():
            async with self._connections.borrow() as connection:
                if check and not self._connections.commits_each_call:
                    check(connection)
                return await self._ask(connection, statement)

    async def _ask(self, connection: psycopg.AsyncConnection[Any], statement: Statement[T]) -> T:
        cursor = connection.cursor(row_factory=tuple_row)
        began = time.perf_counter()
        await cursor.execute(statement.sql, statement.parameters)
        rows = await cursor.fetchall()
        if statement.durations:
            statement.durations.observe(time.perf_counter() - began)
        return statement.read(rows)
