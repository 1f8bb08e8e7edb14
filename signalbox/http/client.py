"""The verbs over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar, Unpack

import httpx

from signalbox.http import calls
from signalbox.http.attempts import Attempts
from signalbox.http.call import Call
from signalbox.http.connections import RETRY_SECONDS, TIMEOUT_SECONDS, Connections, Settings
from signalbox.http.waits import waits
from signalbox.messages import AckedAndReceived, Message, NackOutcome, Outcome, handle_of
from signalbox.queue_info import QueueInfo
from signalbox.statements import BatchOptions, NackOptions, Refused, SendOptions
from signalbox.tracing import received
from signalbox.waiting import SettledWait

T = TypeVar("T")


class HttpClient:
    """The verbs of Signalbox, asked of a server at `url` with an API key. Any number of threads may use it.

    Each call is a request of its own, done when it returns: no transaction of the caller's is joined, and of what
    `receive` says of transactions nothing applies. A request that gets no answer within `timeout` seconds is given up;
    where that does no harm it is made again, for `retry_seconds` (0: never). Further keywords go to `httpx.Client`.

    Refusals are raised as errors of `signalbox.errors` and `signalbox.http`; no answer as ServerUnavailable, and then
    what was asked for may or may not have been done.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        **httpx_options: Any,
    ) -> None:
        self._settings = Settings(url, api_key, timeout, retry_seconds, httpx_options)
        self._connections = Connections(self._settings)

    def send(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> int:
        """Send one message; its id. With a deduplication id already used, the id of the first message."""
        return self._ask(calls.send(queue, payload, options))

    def send_batch(self, queue: str, payloads: Sequence[object], **options: Unpack[BatchOptions]) -> list[int]:
        """Send many messages, all or none; their ids in the order of the payloads."""
        return self._ask(calls.send_batch(queue, payloads, options)) if payloads else []

    def send_each(self, queue: str, messages: Sequence[tuple[object, SendOptions]]) -> list[int | Refused]:
        """Send up to 1,000 messages, each for itself: its id, or the error that `send` would have raised for it.

        Each is a payload and what is said of it. An unknown or closed queue is raised.
        """
        return self._ask(calls.send_each(queue, messages)) if messages else []

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
        """Lease up to `max_messages` messages for `visibility_timeout` seconds (None: the queue's setting).

        Every claim is durable, and there is no transaction that could stay open: `durable` and
        `allow_open_transaction` are for the database. Of an empty queue it waits up to `wait_seconds` for news, 20 in
        each request.
        """
        began_ns = time.time_ns()
        messages: list[Message] = []
        for wait in waits(wait_seconds):
            call = calls.receive(queue, max_messages, visibility_timeout, consumer, wait)
            if messages := self._ask(call):
                break
        received(queue, messages, began_ns)
        return messages

    def fetch(self, message: Message) -> Any:
        """The payload, as `message.payload` has it."""
        return message.payload

    def ack(self, receipt: Message | str, *, result: object = None) -> bool:
        """The message is done with. False when its lease was no longer held: it will be delivered again.

        `result`, at most 64 KB of JSON, is kept as long as history: see `wait_settled`. Raises OutcomeUnknown when
        the answer to a first attempt was lost and it is not known which of both it is.
        """
        return self.ack_batch([receipt], results=[result])[handle_of(receipt)]

    def ack_batch(
        self, receipts: Iterable[Message | str], *, results: Sequence[object] | None = None
    ) -> dict[str, bool]:
        """Ack many messages, in one request for each queue; for each receipt handle what `ack` returns.

        `results` has one entry for each receipt; None keeps nothing.
        """
        return self._ask_all(calls.ack(receipts, results))

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
        """Ack these, of the same queue, and receive what comes next, in one call: cheaper than one after the other.

        Both or neither is done. Otherwise as `ack_batch` and `receive`.
        """
        began_ns = time.time_ns()
        done = self._ask(calls.ack_and_receive(receipts, queue, max_messages, visibility_timeout, consumer))
        received(queue, done.messages, began_ns)
        return done

    def nack(self, receipt: Message | str, **options: Unpack[NackOptions]) -> NackOutcome | None:
        """The delivery failed. Returns "retry" or "dead", or None when the lease was no longer held.

        `state`, at most 16 KB of JSON, is for the next delivery; without one, an earlier one stays.
        """
        return self.nack_batch([(receipt, options)])[0]

    def nack_batch(self, nacks: Iterable[tuple[Message | str, NackOptions]]) -> list[NackOutcome | None]:
        """Many failed deliveries, in one request for each queue; for each receipt, in order, what `nack` returns."""
        each = list(nacks)
        fates = self._ask_all(calls.nack(each))
        return [fates[handle_of(receipt)] for receipt, _ in each]

    def change_visibility(self, receipt: Message | str, seconds: float) -> datetime | None:
        """Let the lease end `seconds` from now; its new deadline, or None when it was no longer held.

        Zero gives the message back at once: claimable again, with no failure recorded.
        """
        return self.change_visibility_batch([receipt], seconds)[handle_of(receipt)]

    def change_visibility_batch(self, receipts: Iterable[Message | str], seconds: float) -> dict[str, datetime | None]:
        """Change many leases, in one request for each queue; for each handle what `change_visibility` returns."""
        return self._ask_all(calls.change_visibility(receipts, seconds))

    def message_outcome(self, message_id: int) -> Outcome | None:
        """Where the message stands and how it ended; None when nothing is known of it, or the key is not for it."""
        return self._ask(calls.message_outcome(message_id))

    def wait_settled(self, message_id: int, timeout: float | None = None) -> Outcome:
        """Wait until the message is acked, purged, expired or dead, at most `timeout` seconds (None: for ever).

        Asks every 10 ms at first, every second in the end. Raises NotSettled, a TimeoutError, when the time
        is over, and MessageNotFound when nothing is known of the message.
        """
        call, wait = calls.message_outcome(message_id), SettledWait(message_id, timeout)
        while (outcome := self._ask(call)) is None or outcome.outcome is None:
            time.sleep(wait.pause(outcome))
        return outcome

    def create_queue(
        self, name: str, settings: Mapping[str, object] | None = None, *, tenant: str | None = None
    ) -> int:
        """Create a queue; its id. Repeating it with equal settings and tenant (None: the key's) changes nothing."""
        return self._ask(calls.create_queue(name, settings or {}, tenant))

    def configure_queue(self, name: str, settings: Mapping[str, object]) -> int:
        """Change the settings named and leave the others; the queue's id."""
        return self._ask(calls.configure_queue(name, settings))

    def list_queues(self, prefix: str = "") -> list[QueueInfo]:
        """The queues that the key reaches whose names begin so, by name, without their numbers."""
        page = self._ask(calls.list_queues(prefix, None))
        found = page.queues
        while page.cursor is not None:
            page = self._ask(calls.list_queues(prefix, page.cursor))
            found += page.queues
        return found

    def describe_queue(self, name: str) -> QueueInfo:
        """A queue with its settings, and how many messages it has where: exact, whatever their number."""
        return self._ask(calls.describe_queue(name))

    def announce_consumer(self, queue: str, consumer: str, details: Mapping[str, object]) -> None:
        """Tell the console that this consumer of the queue is alive, and what it is."""
        self._ask(calls.announce_consumer(queue, consumer, details))

    def close(self) -> None:
        """Close the client's connections. A later call opens others."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"HttpClient({self._settings.url!r})"

    def _ask(self, call: Call[T]) -> T:
        attempts = Attempts(call, self._settings.retry_seconds)
        while (pause := self._attempt(call, attempts)) is not None:
            time.sleep(pause)
        return attempts.result

    def _attempt(self, call: Call[T], attempts: Attempts[T]) -> float | None:
        began = time.perf_counter()
        try:
            response = self._connections.open().request(**self._settings.request(call, attempts.headers))
        except httpx.RequestError as error:
            return attempts.failed(error)
        if call.durations:
            call.durations.observe(time.perf_counter() - began)
        return attempts.answered(response)

    def _ask_all(self, several: Iterable[Call[dict[str, T]]]) -> dict[str, T]:
        return {handle: answer for call in several for handle, answer in self._ask(call).items()}
