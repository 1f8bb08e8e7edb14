"""The one interface of every client: the verbs, whatever they travel over.

`Client` and `AsyncClient` say them to the database, `HttpClient` and `AsyncHttpClient` to a server in front of it.
What is written against `Verbs` or `AsyncVerbs` runs over either; what differs is told in docs/http-client.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, Self, Unpack

from signalbox.messages import AckedAndReceived, Message, NackOutcome, Outcome
from signalbox.queue_info import QueueInfo
from signalbox.statements import BatchOptions, NackOptions, Refused, SendOptions


class Verbs(Protocol):
    """What every client can do. Refusals are errors of `signalbox.errors`."""

    def send(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> int:
        """Send one message; its id."""
        ...

    def send_batch(self, queue: str, payloads: Sequence[object], **options: Unpack[BatchOptions]) -> list[int]:
        """Send many messages, all or none; their ids in the order of the payloads."""
        ...

    def send_each(self, queue: str, messages: Sequence[tuple[object, SendOptions]]) -> list[int | Refused]:
        """Send many messages, each for itself: its id, or the error that `send` would have raised for it."""
        ...

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
        """Lease up to `max_messages` messages; of an empty queue, the first to come within `wait_seconds`."""
        ...

    def fetch(self, message: Message) -> Any:
        """The payload."""
        ...

    def ack(self, receipt: Message | str, *, result: object = None) -> bool:
        """The message is done with. False when its lease was no longer held."""
        ...

    def ack_batch(
        self, receipts: Iterable[Message | str], *, results: Sequence[object] | None = None
    ) -> dict[str, bool]:
        """Ack many messages; for each receipt handle what `ack` returns."""
        ...

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
        """Ack these and receive what comes next, both or neither."""
        ...

    def nack(self, receipt: Message | str, **options: Unpack[NackOptions]) -> NackOutcome | None:
        """The delivery failed: "retry", "dead", or None when the lease was no longer held."""
        ...

    def nack_batch(self, nacks: Iterable[tuple[Message | str, NackOptions]]) -> list[NackOutcome | None]:
        """Many failed deliveries; for each receipt, in order, what `nack` returns."""
        ...

    def change_visibility(self, receipt: Message | str, seconds: float) -> datetime | None:
        """Let the lease end `seconds` from now; its new deadline, or None when it was no longer held."""
        ...

    def change_visibility_batch(self, receipts: Iterable[Message | str], seconds: float) -> dict[str, datetime | None]:
        """Change many leases; for each receipt handle what `change_visibility` returns."""
        ...

    def message_outcome(self, message_id: int) -> Outcome | None:
        """Where the message stands and how it ended; None when nothing is known of it."""
        ...

    def wait_settled(self, message_id: int, timeout: float | None = None) -> Outcome:
        """Wait until the message is acked, purged, expired or dead, at most `timeout` seconds."""
        ...

    def create_queue(
        self, name: str, settings: Mapping[str, object] | None = None, *, tenant: str | None = None
    ) -> int:
        """Create a queue; its id. Repeating it with equal settings changes nothing."""
        ...

    def configure_queue(self, name: str, settings: Mapping[str, object]) -> int:
        """Change the settings named and leave the others; the queue's id."""
        ...

    def list_queues(self, prefix: str = "") -> list[QueueInfo]:
        """The queues whose names begin so, by name, with their settings and without their numbers."""
        ...

    def describe_queue(self, name: str) -> QueueInfo:
        """A queue with its settings, and how many messages it has where."""
        ...

    def announce_consumer(self, queue: str, consumer: str, details: Mapping[str, object]) -> None:
        """Tell the console that this consumer of the queue is alive, and what it is."""
        ...

    def close(self) -> None:
        """Close what the client has opened. A later call opens it again."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class AsyncVerbs(Protocol):
    """The same for asyncio."""

    async def send(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> int:
        """Send one message; its id."""
        ...

    async def send_batch(self, queue: str, payloads: Sequence[object], **options: Unpack[BatchOptions]) -> list[int]:
        """Send many messages, all or none; their ids in the order of the payloads."""
        ...

    async def send_each(self, queue: str, messages: Sequence[tuple[object, SendOptions]]) -> list[int | Refused]:
        """Send many messages, each for itself: its id, or the error that `send` would have raised for it."""
        ...

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
        """Lease up to `max_messages` messages; of an empty queue, the first to come within `wait_seconds`."""
        ...

    async def fetch(self, message: Message) -> Any:
        """The payload."""
        ...

    async def ack(self, receipt: Message | str, *, result: object = None) -> bool:
        """The message is done with. False when its lease was no longer held."""
        ...

    async def ack_batch(
        self, receipts: Iterable[Message | str], *, results: Sequence[object] | None = None
    ) -> dict[str, bool]:
        """Ack many messages; for each receipt handle what `ack` returns."""
        ...

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
        """Ack these and receive what comes next, both or neither."""
        ...

    async def nack(self, receipt: Message | str, **options: Unpack[NackOptions]) -> NackOutcome | None:
        """The delivery failed: "retry", "dead", or None when the lease was no longer held."""
        ...

    async def nack_batch(self, nacks: Iterable[tuple[Message | str, NackOptions]]) -> list[NackOutcome | None]:
        """Many failed deliveries; for each receipt, in order, what `nack` returns."""
        ...

    async def change_visibility(self, receipt: Message | str, seconds: float) -> datetime | None:
        """Let the lease end `seconds` from now; its new deadline, or None when it was no longer held."""
        ...

    async def change_visibility_batch(
        self, receipts: Iterable[Message | str], seconds: float
    ) -> dict[str, datetime | None]:
        """Change many leases; for each receipt handle what `change_visibility` returns."""
        ...

    async def message_outcome(self, message_id: int) -> Outcome | None:
        """Where the message stands and how it ended; None when nothing is known of it."""
        ...

    async def wait_settled(self, message_id: int, timeout: float | None = None) -> Outcome:
        """Wait until the message is acked, purged, expired or dead, at most `timeout` seconds."""
        ...

    async def create_queue(
        self, name: str, settings: Mapping[str, object] | None = None, *, tenant: str | None = None
    ) -> int:
        """Create a queue; its id. Repeating it with equal settings changes nothing."""
        ...

    async def configure_queue(self, name: str, settings: Mapping[str, object]) -> int:
        """Change the settings named and leave the others; the queue's id."""
        ...

    async def list_queues(self, prefix: str = "") -> list[QueueInfo]:
        """The queues whose names begin so, by name, with their settings and without their numbers."""
        ...

    async def describe_queue(self, name: str) -> QueueInfo:
        """A queue with its settings, and how many messages it has where."""
        ...

    async def announce_consumer(self, queue: str, consumer: str, details: Mapping[str, object]) -> None:
        """Tell the console that this consumer of the queue is alive, and what it is."""
        ...

    async def close(self) -> None:
        """Close what the client has opened. A later call opens it again."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...
