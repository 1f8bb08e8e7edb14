"""Batches of sends: a send waits a few milliseconds for others, and one call sends them in one transaction."""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Self, Unpack

from signalbox.calls import sending
from signalbox.calls.call import Call
from signalbox.calls.sending import SendOptions
from signalbox.client import Client
from signalbox.errors import InvalidArgument, SignalboxError


@dataclass(frozen=True, slots=True)
class _Send:
    """One message that waits, with the future of its id."""

    queue: str
    call: Call[int]
    id: Future[int]
    since: float = field(default_factory=time.monotonic)


class Sender:
    """A sender that gathers the sends of all threads; those of one queue keep their order.

    A message is sent when its future has the id, and not before: a process that dies loses the messages that still
    waited. The result of the future says that a message is sent. One refused message fails
    alone, with the error that `Client.send` would raise. Connections are the client's, which must not be a caller's
    connection: a batch may hold messages of several callers. A fork needs a sender of its own.

    `delay`: seconds for which the first message waits for others. `batch`: the most messages in one call. `capacity`:
    messages that may wait before `send` itself waits.
    """

    def __init__(self, client: Client, *, delay: float = 0.001, batch: int = 100, capacity: int = 10_000) -> None:
        if not isinstance(client, Client):
            raise InvalidArgument(
                f"client must be a Client in the database, not {type(client).__name__}: over HTTP use send_each",
                field="client",
            )
        if not client._connections.commits_each_call:
            raise InvalidArgument("client must commit each call: give it a DSN or a pool", field="client")
        if not 1 <= batch <= capacity:
            raise InvalidArgument("batch must be from 1 to capacity", field="batch")
        self._client = client
        self._delay = delay
        self._batch = batch
        self._capacity = capacity
        self._waiting: deque[_Send] = deque()
        self._accepted = 0
        self._settled = 0
        self._flushes = 0
        self._closed = False
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._room = threading.Condition(self._lock)
        self._thread = threading.Thread(target=self._work, name="signalbox-sender", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def send(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> Future[int]:
        """Send the message soon; returns the future of its id. Wrong arguments are raised here."""
        send = _Send(queue, sending.send(queue, payload, options), Future())
        with self._lock:
            self._room.wait_for(lambda: self._closed or len(self._waiting) < self._capacity)
            if self._closed:
                raise RuntimeError("this sender is closed")
            self._waiting.append(send)
            self._accepted += 1
            if len(self._waiting) in (1, self._batch):
                self._news.notify()
        return send.id

    def flush(self) -> None:
        """Wait until every message given to `send` so far has been sent or refused."""
        with self._lock:
            last = self._accepted
            self._flushes += 1
            self._news.notify()
            self._room.wait_for(lambda: self._settled >= last)
            self._flushes -= 1

    def close(self) -> None:
        """Send the waiting messages and stop. A second call does nothing."""
        with self._lock:
            self._closed = True
            self._news.notify()
            self._room.notify_all()
        self._thread.join()
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self) -> None:
        while batch := self._next():
            sends = [send for send in batch if send.id.set_running_or_notify_cancel()]
            for queue in dict.fromkeys(send.queue for send in sends):
                self._send_together([send for send in sends if send.queue == queue])
            with self._lock:
                self._settled += len(batch)
                self._room.notify_all()

    def _next(self) -> list[_Send]:
        """Take the next batch when it is full or its delay is over; returns an empty one after `close`."""
        with self._lock:
            self._news.wait_for(lambda: self._waiting or self._closed)
            if self._waiting:
                seconds_left = self._waiting[0].since + self._delay - time.monotonic()
                self._news.wait_for(self._is_due, max(seconds_left, 0.0))
            batch = [self._waiting.popleft() for _ in range(min(self._batch, len(self._waiting)))]
            self._room.notify_all()
            return batch

    def _is_due(self) -> bool:
        return len(self._waiting) >= self._batch or self._flushes > 0 or self._closed

    def _send_together(self, sends: list[_Send]) -> None:
        try:
            ids = self._client._send(sending.send_together([send.call for send in sends]))
        except SignalboxError as error:
            if len(sends) == 1:
                _fail(sends, error)
            else:  # one refused message has made the whole batch fail
                for send in sends:
                    self._send_together([send])
        except Exception as error:
            _fail(sends, error)
        else:
            for send, message_id in zip(sends, ids, strict=True):
                send.id.set_result(message_id)


def _fail(sends: list[_Send], error: Exception) -> None:
    for send in sends:
        send.id.set_exception(error)
