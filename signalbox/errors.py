"""Every way a verb can refuse, as one tree; each class's docstring is its default message.

The database names its refusals by SQLSTATE. Here is the only place that knows which is which.
"""
# ruff: noqa: N818 - each class names what happened, which "Error" after it would not make clearer

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from signalbox.messages import Outcome
from signalbox.unavailable import DatabaseUnavailable, unavailable_of


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


class MessageUnreadable(SignalboxError):
    """The message has JSON that Python cannot read."""


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


class InMaintenance(SignalboxError):
    """Maintenance of the installation refuses sends; nothing was done.

    `until` is when it was announced to end, in ISO 8601, and `retry_after` in how many seconds; None: nobody said,
    or that is past.
    """

    def __init__(self, message: str = "", until: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.until = until
        self.retry_after = retry_after


class QueueInUse(SignalboxError):
    """The queue cannot be deleted: it holds messages, or something uses it.

    `messages` is how many are ready, waiting, scheduled, leased and dead; empty when it is something else.
    """

    def __init__(self, message: str = "", messages: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.messages = dict(messages or {})


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


@dataclass(frozen=True, slots=True)
class Said:
    """What the database says of a refusal."""

    message: str
    detail: str | None = None
    column: str | None = None


def translate(error: psycopg.Error) -> SignalboxError | DatabaseUnavailable | psycopg.Error:
    """The error of this tree that `error` stands for, or why the database is unavailable; else `error` itself."""
    build = _BY_SQLSTATE.get(error.sqlstate or "")
    if build is None:
        return unavailable_of(error) or error
    diag = error.diag
    return build(Said(diag.message_primary or "", diag.message_detail, diag.column_name))


def refusal_of(sqlstate: str, message: str, detail: str | None = None, column: str | None = None) -> SignalboxError:
    """The error of this tree for a refusal that came as a row and not as an error."""
    return _BY_SQLSTATE[sqlstate](Said(message, detail, column))


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


def _invalid_argument(said: Said) -> InvalidArgument:
    return InvalidArgument(said.message, field=said.column)


def _not_found(said: Said) -> SignalboxError:
    kind = {"stream": StreamNotFound, "group_name": GroupNotFound}.get(said.column or "", QueueNotFound)
    return kind(said.message)


def _unstorable_payload(said: Said) -> InvalidArgument:
    detail = said.detail or said.message
    return InvalidArgument(f"The payload is not JSON that PostgreSQL can store: {detail}", field="payload")


def _unstorable_text(said: Said) -> InvalidArgument:
    return InvalidArgument(f"PostgreSQL cannot store this text: {said.message}")


def _deduplication_conflict(said: Said) -> DeduplicationConflict:
    named = re.search(r"\d+", said.detail or "")
    return DeduplicationConflict(said.message, first_message_id=int(named[0]) if named else None)


def _quota_exceeded(said: Said) -> QuotaExceeded:
    return QuotaExceeded(said.message, **json.loads(said.detail or "{}"), field=said.column)


def _in_maintenance(said: Said) -> InMaintenance:
    return InMaintenance(said.message, **json.loads(said.detail or "{}"))


def _queue_in_use(said: Said) -> QueueInUse:
    found = json.loads(said.detail or "{}")
    return QueueInUse(said.message, messages=found if "ready" in found else None)


_BY_SQLSTATE: dict[str, Callable[[Said], SignalboxError]] = {
    "SB400": _invalid_argument,
    "SB404": _not_found,
    "SB409": _deduplication_conflict,
    "SB413": lambda said: PayloadTooLarge(said.message),
    "SB423": lambda said: QueueClosed(said.message),
    "SB424": _queue_in_use,
    "SB425": lambda said: WrongIsolation(said.message),
    "SB429": _quota_exceeded,
    "SB503": _in_maintenance,
    "22P02": _unstorable_payload,  # not JSON, or a lone surrogate
    "22P05": _unstorable_payload,  # \u0000
    "22021": _unstorable_text,  # NUL, or bytes that are not the database's encoding
}
