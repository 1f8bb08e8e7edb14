"""Base of all clients: record an operation, do it, and record its answer.

A refusal by the server before a commit is a failure; a connection that breaks in the middle leaves the outcome unknown.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from signalbox import Client, Message, SignalboxError
from signalbox.connections import primary_selection
from tests.chaos.judging.history import FAILED, OK, UNKNOWN, Journal

T = TypeVar("T")

#: SQLSTATEs after which nothing was done: a statement that was cancelled, refused a lock, chosen in a deadlock, or that
#: would have written where nothing may be written.
HARMLESS = frozenset({"57014", "55P03", "40P01", "25P03", "53300", "25006"})
#: What sessions of clients set, so that nothing that is held can stop them for good (milliseconds): one is refused the
#: lock, the other loses its statement.
SESSIONS = (
    "-c lock_timeout=1500 -c statement_timeout=20000 -c idle_in_transaction_session_timeout=10000",
    "-c lock_timeout=0 -c statement_timeout=1800 -c idle_in_transaction_session_timeout=10000",
)
PAUSE_SECONDS = 0.1
TOKENS = 1_000_000_000


class Interrupted(Exception):  # noqa: N818 - the operation's end, not the client's
    """An operation ended without success; it is written down."""


@dataclass(frozen=True)
class Assignment:
    """Description of a client. `incarnation` is never used twice."""

    role: str
    queue: str
    incarnation: int
    seed: int
    dsn: str
    folder: Path
    options: dict[str, Any]


class ChaosClient:
    """Client with one connection and one journal, which takes turns until it is stopped."""

    sessions: tuple[str, ...] = SESSIONS
    connect_seconds = 10

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.queue = assignment.queue
        self.dice = random.Random(assignment.seed * TOKENS + assignment.incarnation)
        name = f"{assignment.incarnation:05d}-{assignment.role.replace(' ', '-')}"
        self.journal = Journal(assignment.folder / f"{name}.jsonl")
        self.name = name
        self._tokens = itertools.count(assignment.incarnation * TOKENS)
        self._connection: psycopg.Connection[Any] | None = None
        self.stopping = False

    def run(self) -> None:
        """Take turns until SIGTERM; after an error the next turn begins with a new connection."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        parent = os.getppid()  # when the run is gone, so is its company
        while not self.stopping and os.getppid() == parent:
            try:
                self.turn()
            except (Interrupted, psycopg.Error, SignalboxError, OSError):
                self.drop()
                time.sleep(self.dice.uniform(0.2, 1.0) * PAUSE_SECONDS)

    def turn(self) -> None:
        raise NotImplementedError

    def _stop(self, *_: object) -> None:
        self.stopping = True

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """An autocommit connection; opening it is no operation, since nothing was asked for yet."""
        if self._connection is None or self._connection.closed:
            self._connection = primary_selection.connect(
                self.assignment.dsn,
                autocommit=True,
                options=self.sessions[self.assignment.incarnation % len(self.sessions)],
                application_name=self.name,
                connect_timeout=self.connect_seconds,
            )
        return self._connection

    @property
    def verbs(self) -> Client:
        return Client(self.connection)

    def drop(self) -> None:
        """Let go of the connection: whatever it was in the middle of."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def tokens(self, count: int) -> list[int]:
        return list(itertools.islice(self._tokens, count))

    def attempt(self, kind: str, call: Callable[[], T], answer: Callable[[T], dict[str, Any]], **arguments: Any) -> T:
        """Do the recorded operation, and record its result. Raises Interrupted when it did not succeed."""
        _ = self.connection
        number = self.journal.invoke(kind, **arguments)
        try:
            result = call()
        except (psycopg.Error, SignalboxError) as error:
            self.journal.complete(number, outcome_of(error), why=why(error))
            raise Interrupted from error
        self.journal.complete(number, OK, **answer(result))
        return result

    # what several roles do

    def receive(self, most: int, *, durable: bool = True, visibility: float) -> list[Message]:
        return self.attempt(
            "receive",
            lambda: self.verbs.receive(self.queue, most, durable=durable, visibility_timeout=visibility),
            lambda messages: {"messages": [described(message) for message in messages]},
            queue=self.queue,
            most=most,
            durable=durable,
            visibility=visibility,
        )

    def ack(self, messages: list[Message]) -> None:
        handles = [message.receipt_handle for message in messages]
        self.attempt(
            "ack",
            lambda: self.verbs.ack_batch(handles),
            lambda acked: {"answers": [acked[handle] for handle in handles]},
            handles=handles,
        )


def described(message: Message) -> list[Any]:
    """A delivery as history keeps it."""
    fifo = message.attributes.get("fifo") if message.attributes else None
    return [
        message.id,
        message.payload,
        message.receipt_handle,
        message.receive_count,
        message.deadline.timestamp(),
        message.group_id if fifo else None,
    ]


def outcome_of(error: BaseException) -> str:
    """Refusals are failures; what ends a session may have come after the commit."""
    state = getattr(error, "sqlstate", None)
    refused = isinstance(error, SignalboxError) or state in HARMLESS
    return FAILED if refused else UNKNOWN


def why(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"
