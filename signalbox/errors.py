"""The errors of the client: refusals by the database, and those that only an HTTP server has.

The docstring of a class is its default message, and its fields are facts about the refusal. The database names its
refusals by SQLSTATE. This module alone maps them to errors.
"""
# ruff: noqa: N818 - each class names what happened, which "Error" after it would not make clearer

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from signalbox.connections.unavailable import BY_SLUG, DatabaseUnavailable, Unavailable, unavailable_of
from signalbox.messages import Outcome


@dataclass(eq=False, repr=False)
class SignalboxError(Exception):
    """Signalbox refused the request."""

    message: str = ""

    def __post_init__(self) -> None:
        self.message = self.message or inspect.cleandoc(type(self).__doc__ or type(self).__name__)
        super().__init__(self.message)


class QueueNotFound(SignalboxError):
    """The queue does not exist."""


class StreamNotFound(SignalboxError):
    """The stream does not exist."""


class GroupNotFound(SignalboxError):
    """The stream has no group of this name."""


@dataclass(eq=False, repr=False)
class InvalidArgument(SignalboxError):
    """An argument or setting is invalid."""

    field: str | None = None


class PayloadTooLarge(SignalboxError):
    """The payload is larger than the queue accepts."""


class BodyMissing(SignalboxError):
    """The payload is in a body store, and there is nothing under its hash."""


class BodyCorrupt(SignalboxError):
    """The body store has another content under the payload's hash."""


class MessageUnreadable(SignalboxError):
    """The message has JSON that Python cannot read."""


@dataclass(eq=False, repr=False)
class DeduplicationConflict(SignalboxError):
    """The deduplication id was used for a message with a different body."""

    first_message_id: int | None = None


@dataclass(eq=False, repr=False)
class QuotaExceeded(SignalboxError):
    """A limit of the queue or its tenant would be exceeded; nothing was done.

    `reason` is `backlog`, `bytes`, `age`, `rate`, `lane`, `queues`, `streams`, `stream_bytes`, `retention` or
    `long_polls`; `limit` and `actual` are in the limit's unit. `retry_after` is in seconds; None: the request itself is
    above the limit.
    """

    reason: str = ""
    limit: float = 0.0
    actual: float = 0.0
    retry_after: float | None = None
    field: str | None = None
    """The limit's name, say max_backlog_messages."""
    scope: str = "queue"
    """Whose limit it is: queue or tenant."""


class QueueClosed(SignalboxError):
    """The queue is closed and accepts no messages."""


class StreamClosed(QueueClosed):
    """The stream is closed and accepts no messages."""


@dataclass(eq=False, repr=False)
class Moved(SignalboxError):
    """Another cell of the fleet takes this message; nothing was done.

    `cell` is that cell, `partition` the part of the queue and `epoch` the epoch of its placement, None for a message
    without a key. `version` is that of the directory. `retry_after`, in seconds, is set while no cell takes the part.
    """

    version: int = 0
    cell: str | None = None
    partition: int | None = None
    epoch: int | None = None
    retry_after: float | None = None


@dataclass(eq=False, repr=False)
class PartlySent(SignalboxError):
    """A batch went to several cells, and only some of them took their messages; the cause says why.

    `ids` has the id of each message in the order of the payloads; None: it may not have been sent.
    """

    ids: Sequence[int | None] = ()


@dataclass(eq=False, repr=False)
class InMaintenance(SignalboxError):
    """Maintenance of the installation refuses sends; nothing was done.

    `until` is the announced end, in ISO 8601, and `retry_after` the seconds until then; None: no end was announced, or
    it is past.
    """

    until: str | None = None
    retry_after: float | None = None


@dataclass(eq=False, repr=False)
class QueueInUse(SignalboxError):
    """The queue cannot be deleted: it holds messages, or something uses it.

    `messages` counts the messages by state: ready, waiting, scheduled, leased, dead. The mapping is empty when
    something else uses the queue.
    """

    messages: Mapping[str, int] = field(default_factory=dict)


class WrongIsolation(SignalboxError):
    """The verb needs a transaction at isolation level READ COMMITTED."""


class MessageNotFound(SignalboxError):
    """The message is unknown: it was never sent, or its retention is over."""


@dataclass(eq=False, repr=False)
class NotSettled(SignalboxError, TimeoutError):
    """The message was not settled in time; `outcome` is its state."""

    outcome: Outcome | None = None


class OpenTransaction(SignalboxError):
    """A receive must be committed before the work starts, and this connection's transaction stays open.

    If that transaction were rolled back, the delivery would not be counted, and a poisonous message would never die.
    Give the client a DSN, a pool or an idle autocommit connection, or pass allow_open_transaction=True.
    """


class Unauthorized(SignalboxError):
    """The API key is missing, unknown, expired or revoked."""


class Forbidden(SignalboxError):
    """The API key lacks the scope for this."""


class ServerUnavailable(Unavailable, ConnectionError):
    """The server gave no clear answer: the request may or may not have been carried out.

    Over a database, the error is `DatabaseUnavailable`. `cause` is set where the server names a fault of its own
    database. `nothing_done` is True when the request was certainly not carried out.
    """

    def __init__(self, message: str = "", cause: str = "", *, nothing_done: bool = False) -> None:
        super().__init__(message or inspect.cleandoc(type(self).__doc__ or type(self).__name__))
        self.cause = cause
        self.nothing_done = nothing_done or (cause in BY_SLUG and BY_SLUG[cause].nothing_done)


class RateLimited(ServerUnavailable):
    """The API key has used up its rate or its connections; nothing was done. `retry_after` is in seconds."""

    def __init__(self, message: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, nothing_done=True)
        self.retry_after = retry_after


class OutcomeUnknown(ServerUnavailable):
    """The answer to a first attempt was lost, and at the second the lease was no longer held.

    Either the first attempt has settled the message, or the lease had ended before. `answers` has the
    second attempt's result for each receipt handle; a message that it reports as settled is settled.
    """

    def __init__(self, message: str = "", answers: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.answers = dict(answers or {})


@dataclass(frozen=True, slots=True)
class Refusal:
    """The message, detail and column of a refusal by the database."""

    message: str
    detail: str | None = None
    column: str | None = None


def translate(error: psycopg.Error) -> SignalboxError | DatabaseUnavailable | psycopg.Error:
    """Translate an error of psycopg into a refusal or into DatabaseUnavailable; any other error is returned."""
    make_error = _BY_SQLSTATE.get(error.sqlstate or "")
    if make_error is None:
        return unavailable_of(error) or error
    diag = error.diag
    return make_error(Refusal(diag.message_primary or "", diag.message_detail, diag.column_name))


def refusal_of(sqlstate: str, message: str, detail: str | None = None, column: str | None = None) -> SignalboxError:
    """Make the error for a refusal that a statement returned as a row."""
    return _BY_SQLSTATE[sqlstate](Refusal(message, detail, column))


class translated:  # noqa: N801 - used as a function
    """Raise refusals of the database inside the block as errors of this module."""

    def __enter__(self) -> None:
        """Enter a block whose refusals are translated."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, psycopg.Error) and (translation := translate(error)) is not error:
            raise translation from error


def _not_found(refusal: Refusal) -> SignalboxError:
    kind = {"stream": StreamNotFound, "group_name": GroupNotFound}.get(refusal.column or "", QueueNotFound)
    return kind(refusal.message)


def _unstorable_payload(refusal: Refusal) -> InvalidArgument:
    detail = refusal.detail or refusal.message
    return InvalidArgument(f"The payload is not JSON that PostgreSQL can store: {detail}", field="payload")


def _deduplication_conflict(refusal: Refusal) -> DeduplicationConflict:
    named = re.search(r"\d+", refusal.detail or "")
    return DeduplicationConflict(refusal.message, first_message_id=int(named[0]) if named else None)


def _queue_in_use(refusal: Refusal) -> QueueInUse:
    facts = _facts(refusal)
    return QueueInUse(refusal.message, messages=facts if "ready" in facts else {})


def _facts(refusal: Refusal) -> Any:
    """The facts about a refusal, which the database gives as a JSON object in the detail."""
    return json.loads(refusal.detail or "{}")


_BY_SQLSTATE: dict[str, Callable[[Refusal], SignalboxError]] = {
    "SB400": lambda refusal: InvalidArgument(refusal.message, field=refusal.column),
    "SB404": _not_found,
    "SB409": _deduplication_conflict,
    "SB413": lambda refusal: PayloadTooLarge(refusal.message),
    "SB421": lambda refusal: Moved(refusal.message, **_facts(refusal)),
    "SB423": lambda refusal: (StreamClosed if refusal.column == "stream" else QueueClosed)(refusal.message),
    "SB424": _queue_in_use,
    "SB425": lambda refusal: WrongIsolation(refusal.message),
    "SB429": lambda refusal: QuotaExceeded(refusal.message, **_facts(refusal), field=refusal.column),
    "SB503": lambda refusal: InMaintenance(refusal.message, **_facts(refusal)),
    "22P02": _unstorable_payload,  # not JSON, or a lone surrogate
    "22P05": _unstorable_payload,  # \u0000
    # NUL, or bytes that are not the database's encoding
    "22021": lambda refusal: InvalidArgument(f"PostgreSQL cannot store this text: {refusal.message}"),
}
