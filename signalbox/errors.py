"""Every way a verb can refuse, as one tree; each class's docstring is its default message.

The database names its refusals by SQLSTATE. Here is the only place that knows which is which.
"""
# ruff: noqa: N818 - each class names what happened, which "Error" after it would not make clearer

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from signalbox.messages import Outcome


class SignalboxError(Exception):
    """Signalbox refused the request."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or inspect.cleandoc(type(self).__doc__ or type(self).__name__))


class QueueNotFound(SignalboxError):
    """There is no queue of this name."""


class StreamNotFound(SignalboxError):
    """There is no stream of this name."""


class GroupNotFound(SignalboxError):
    """The stream has no group of this name."""


class InvalidArgument(SignalboxError):
    """An argument or setting is invalid."""

    def __init__(self, message: str = "", field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class PayloadTooLarge(SignalboxError):
    """The payload is larger than the queue accepts."""


class BodyMissing(SignalboxError):
    """The payload is in a body store, and there is nothing under its hash."""


class BodyCorrupt(SignalboxError):
    """What the body store has under the payload's hash is something else."""


class DeduplicationConflict(SignalboxError):
    """Another message was sent with this deduplication id and a different body."""

    def __init__(self, message: str = "", first_message_id: int | None = None) -> None:
        super().__init__(message)
        self.first_message_id = first_message_id


class QuotaExceeded(SignalboxError):
    """A limit of the queue or its tenant would be exceeded; nothing was done.

    `reason` is backlog, bytes, age, rate, lane, queues, retention or long_polls; `limit` and `actual` are in the
    limit's unit. `retry_after` is in seconds; None: what was asked for is itself above the limit.
    """

    def __init__(
        self,
        message: str = "",
        reason: str = "",
        limit: float = 0.0,
        actual: float = 0.0,
        retry_after: float | None = None,
        field: str | None = None,
        scope: str = "queue",
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.limit = limit
        self.actual = actual
        self.retry_after = retry_after
        self.field = field
        """The limit's name, say max_backlog_messages."""
        self.scope = scope
        """Whose limit it is: queue or tenant."""


class QueueClosed(SignalboxError):
    """The queue is closed and accepts no messages."""


class WrongIsolation(SignalboxError):
    """This verb needs a transaction at isolation level READ COMMITTED."""


class MessageNotFound(SignalboxError):
    """Nothing is known of this message: it never was, or its retention is over."""


class NotSettled(SignalboxError, TimeoutError):
    """The message was not settled in time; `outcome` is where it stands."""

    def __init__(self, message: str = "", outcome: Outcome | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome


class OpenTransaction(SignalboxError):
    """A receive must be committed before the work starts, and this connection's transaction stays open.

    Rolled back, the delivery would not be counted and a poisonous message would never die.
    Give the client a DSN, a pool or an idle autocommit connection, or pass allow_open_transaction=True.
    """


def translate(error: psycopg.Error) -> SignalboxError | psycopg.Error:
    """The error of this tree that `error` stands for, or `error` itself when it is none of ours."""
    build = _BY_SQLSTATE.get(error.sqlstate or "")
    return build(error) if build else error


@contextmanager
def translated() -> Iterator[None]:
    """Raise the database's refusals inside the block as errors of this tree."""
    try:
        yield
    except psycopg.Error as error:
        known = translate(error)
        if known is error:
            raise
        raise known from error


def _message(error: psycopg.Error) -> str:
    return error.diag.message_primary or ""


def _not_found(error: psycopg.Error) -> SignalboxError:
    kind = {"stream": StreamNotFound, "group_name": GroupNotFound}.get(error.diag.column_name or "", QueueNotFound)
    return kind(_message(error))


def _invalid_argument(error: psycopg.Error) -> InvalidArgument:
    return InvalidArgument(_message(error), field=error.diag.column_name)


def _unstorable_payload(error: psycopg.Error) -> InvalidArgument:
    detail = error.diag.message_detail or _message(error)
    return InvalidArgument(f"The payload is not JSON that PostgreSQL can store: {detail}", field="payload")


def _unstorable_text(error: psycopg.Error) -> InvalidArgument:
    return InvalidArgument(f"PostgreSQL cannot store this text: {_message(error)}")


def _deduplication_conflict(error: psycopg.Error) -> DeduplicationConflict:
    named = re.search(r"\d+", error.diag.message_detail or "")
    return DeduplicationConflict(_message(error), first_message_id=int(named[0]) if named else None)


def _quota_exceeded(error: psycopg.Error) -> QuotaExceeded:
    return QuotaExceeded(_message(error), **json.loads(error.diag.message_detail or "{}"), field=error.diag.column_name)


_BY_SQLSTATE: dict[str, Callable[[psycopg.Error], SignalboxError]] = {
    "SB400": _invalid_argument,
    "SB404": _not_found,
    "SB409": _deduplication_conflict,
    "SB413": lambda error: PayloadTooLarge(_message(error)),
    "SB423": lambda error: QueueClosed(_message(error)),
    "SB425": lambda error: WrongIsolation(_message(error)),
    "SB429": _quota_exceeded,
    "22P02": _unstorable_payload,  # not JSON, or a lone surrogate
    "22P05": _unstorable_payload,  # \u0000
    "22021": _unstorable_text,  # NUL, or bytes that are not the database's encoding
}
