"""The worker of a consumer group: it reads a stream, calls a handler for each message, and commits what is done.

Any number of processes with one group share the partitions. A message that fails is tried again in place, since the
messages behind it must not overtake it; then it goes to a dead-letter queue with its stream, partition and position.
"""

from __future__ import annotations

import itertools
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field
from typing import Any

from signalbox import arguments
from signalbox.connections.connecting import connect, is_server
from signalbox.connections.reconnect import Backoff
from signalbox.connections.unavailable import Unavailable
from signalbox.errors import BodyCorrupt, BodyMissing, InvalidArgument, MessageUnreadable
from signalbox.logs.errors import name_of as name_of_error
from signalbox.messages import StreamMessage
from signalbox.payloads.bodies import BodyStore
from signalbox.payloads.unreadable import Unreadable
from signalbox.verbs import Verbs
from signalbox.worker.handlers.naming import is_async, load, name_of
from signalbox.worker.handlers.outcomes import Reject
from signalbox.worker.options import option
from signalbox.worker.processes.child import store_of

#: The longest wait for messages, after which a worker looks whether it is stopped.
WAIT_SECONDS = 2.0
#: The pauses before a message is tried again, and before a lost connection is.
FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 60.0
#: The most characters of an error that a dead letter has.
MAX_ERROR_CHARACTERS = 2_000

logger = logging.getLogger(__name__)


@dataclass
class GroupWorker:
    """A worker of a consumer group, which calls a handler for each message of a stream until it is stopped.

    When the handlers of a read have returned, their offsets are committed: each message is handled at least once, and
    the messages of a partition in their order. A message that fails `attempts` times goes to `dead_letter_queue`;
    without one it is tried until it succeeds. By raising Reject the handler gives a message up at once.
    """

    #: The database, as libpq takes it, or the https:// address of a server.
    dsn: str
    stream: str
    group: str
    #: A plain function that takes a StreamMessage, or its name as `module:function`.
    handler: Any
    _: KW_ONLY
    member: str | None = option(None, "NAME", "with --stream: name of this member in the group (default host:pid)")
    max_messages: int = option(100, "N", "with --stream: messages in one read and one commit (default 100)")
    attempts: int = option(5, "N", "with --stream: attempts before a message is dead (default 5)")
    lease_seconds: float = option(
        60.0, "S", "with --stream: seconds after which another member takes the partitions of a dead one (default 60)"
    )
    dead_letter_queue: str | None = option(
        None, "QUEUE", "with --stream: queue for messages that failed every attempt (default: try again for ever)"
    )
    #: The API key for a server; None: SIGNALBOX_API_KEY.
    api_key: str | None = field(default=None, repr=False)
    #: The body store, as for the worker of a queue: a folder or `module:function`. A server has its own.
    bodies: str | None = None

    def __post_init__(self) -> None:
        arguments.checked(stream=self.stream, group=self.group, max_messages=self.max_messages)
        arguments.count("attempts", self.attempts)
        if arguments.seconds("lease_seconds", self.lease_seconds) < 1:
            raise InvalidArgument("lease_seconds must be at least one second", field="lease_seconds")
        arguments.optional_text("dead_letter_queue", self.dead_letter_queue)
        self.member = arguments.optional_text("member", self.member) or f"{socket.gethostname()}:{os.getpid()}"
        self._stopped = threading.Event()
        self._renewed_at = 0.0

    def run(self) -> None:
        """Work until SIGTERM or SIGINT: the running handler ends, and what is done is committed."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())
        self.work()

    def stop(self) -> None:
        """Read no more messages. Any thread may call it."""
        self._stopped.set()

    def work(self) -> None:
        """Work until `stop` is called, and give the partitions back."""
        self._handle = self.handler if callable(self.handler) else load(name_of(self.handler))
        if is_async(self._handle):
            raise InvalidArgument("handler must be a plain function for a consumer group", field="handler")
        with connect(self.dsn, self.api_key, **self._stores()) as verbs:
            backoff = Backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
            while not self._stopped.is_set():
                try:
                    self._handle_next(verbs)
                    backoff.reset()
                except Unavailable as error:
                    logger.warning("The group %s cannot be read: %s", self.group, error)
                    self._stopped.wait(backoff.pause())
            verbs.leave_group(self.stream, self.group, str(self.member))

    def _stores(self) -> dict[str, BodyStore]:
        store = None if is_server(self.dsn) else store_of(self.bodies)
        return {} if store is None else {"bodies": store}

    def _handle_next(self, verbs: Verbs) -> None:
        """Handle the messages of one read, and commit those that are done."""
        self._renew(verbs)
        place = (self.stream, self.group, str(self.member))
        messages = verbs.read_stream(*place, self.max_messages, wait_seconds=WAIT_SECONDS)
        done = list(itertools.takewhile(lambda message: self._is_done(verbs, message), messages))
        if done and not verbs.commit_messages(*place, done):
            logger.warning("Another member of %s has a partition by now: its messages are handled again", self.group)

    def _renew(self, verbs: Verbs) -> None:
        """Renew the lease in the group, which could otherwise end while handlers run."""
        if time.monotonic() - self._renewed_at > self.lease_seconds / 3:
            verbs.join_group(self.stream, self.group, str(self.member), lease_seconds=self.lease_seconds)
            self._renewed_at = time.monotonic()

    def _is_done(self, verbs: Verbs, message: StreamMessage) -> bool:
        """Handle a message, and try it again in place; False when the worker is stopped before it is done."""
        backoff = Backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        for attempt in itertools.count(1):
            if self._stopped.is_set():
                return False
            self._renew(verbs)
            error = self._attempt(message)
            if error is None or self._is_given_up(verbs, message, error, attempt):
                return True
            self._stopped.wait(backoff.pause())
        raise AssertionError

    def _attempt(self, message: StreamMessage) -> Exception | None:
        """Call the handler once; return its error."""
        if message.unreadable is not None:
            return Reject(f"{MessageUnreadable.__doc__} {message.unreadable.reason}")
        try:
            self._handle(message)
        except Exception as error:
            where = (self.stream, message.partition, message.position)
            logger.warning("Message %s/%s/%s failed: %s", *where, error, exc_info=error)
            return error
        return None

    def _is_given_up(self, verbs: Verbs, message: StreamMessage, error: Exception, attempt: int) -> bool:
        """Send a message to the dead-letter queue after its last attempt; False if it is tried again.

        The deduplication id makes a repetition harmless: the offset is committed only later.
        """
        if self.dead_letter_queue is None or (attempt < self.attempts and not isinstance(error, Reject)):
            return False
        place = {"stream": self.stream, "partition": message.partition, "position": message.position}
        about = {**place, "group": self.group, "key": message.key, **_facts(error)}
        payload = _payload_of(message)
        verbs.send(
            self.dead_letter_queue,
            payload,
            attributes={"dead_letter_of": about},
            content_type=message.content_type if isinstance(payload, bytes) else None,
            deduplication_id="/".join(map(str, (self.group, *place.values())))[-200:],
        )
        logger.error("Message %s/%s/%s is dead: %s", *place.values(), error)
        return True


def _payload_of(message: StreamMessage) -> Any:
    """The payload for the dead-letter queue: its text where it cannot be read, or the pointer to its lost body."""
    try:
        payload = message.payload
    except (BodyMissing, BodyCorrupt):
        return asdict(message.body) if message.body else None
    return payload.text if isinstance(payload, Unreadable) else payload


def _facts(error: Exception) -> Mapping[str, str]:
    """Describe the error, or the one that a Reject names as its cause."""
    cause = error.__cause__ if isinstance(error, Reject) and error.__cause__ else error
    text = arguments.storable_text(str(cause)[:MAX_ERROR_CHARACTERS]) or ""
    return {"error_class": name_of_error(cause), "error": text}


def run_group(dsn: str, stream: str, group: str, handler: Any, **options: Any) -> None:
    """Run a worker of a consumer group until SIGTERM or SIGINT; the options are those of `GroupWorker`."""
    GroupWorker(dsn, stream, group, handler, **options).run()
