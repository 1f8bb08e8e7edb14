"""The errors of refused verbs, as one tree; each class's docstring is its default message, its fields are its facts.

The database names its refusals by SQLSTATE. This module alone maps them to errors.
"""
# ruff: noqa: N818 - each class names what happened, which "Error" after it would not make clearer

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import psycopg

from signalbox.connections.unavailable import DatabaseUnavailable, unavailable_of
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

    `reason` is `backlog`, `bytes`, `age`, `rate`, `lane`, `queues`, `retention` or `long_polls`; `limit` and `actual`
    are in the limit's unit. `retry_after` is in seconds; None: the request itself is above the limit.
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

    `messages` is how many are ready, waiting, scheduled, leased and dead; empty when it is something else.
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

    Rolled back, the delivery would not be counted and a poisonous message would never die.
    Give the client a DSN, a pool or an idle autocommit connection, or pass allow_open_transaction=True.
    """


@dataclass(frozen=True, slots=True)
class Refusal:
    """The message, detail and column of a refusal by the database."""

    message: str
    detail: str | None = None
    column: str | None = None


def translate(error: psycopg.Error) -> SignalboxError | DatabaseUnavailable | psycopg.Error:
    """The error of this tree that `error` stands for, or why the database is unavailable; else `error` itself."""
    build = _BY_SQLSTATE.get(error.sqlstate or "")
    if build is None:
        return unavailable_of(error) or error
    diag = error.diag
    return build(Refusal(diag.message_primary or "", diag.message_detail, diag.column_name))


def refusal_of(sqlstate: str, message: str, detail: str | None = None, column: str | None = None) -> SignalboxError:
    """The error of this tree for a refusal that came as a row and not as an error."""
    return _BY_SQLSTATE[sqlstate](Refusal(message, detail, column))


class translated:  # noqa: N801 - used as a function
    """Raise the database's refusals inside the block as errors of this tree."""

    def __enter__(self) -> None:
        """Enter a block whose refusals are translated."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, psycopg.Error) and (known := translate(error)) is not error:
            raise known from error


def _not_found(refusal: Refusal) -> SignalboxError:
    kind = {"stream": StreamNotFound, "group_name": GroupNotFound}.get(refusal.column or "", QueueNotFound)
    return kind(refusal.message)


def _unstorable_payload(refusal: Refusal) -> InvalidArgument:
    detail = refusal.detail or refusal.message
    return InvalidArgument(f"The payload is not JSON that PostgreSQL can store: {detail}", field="payload")


def _deduplication_conflict(refusal: Refusal) -> DeduplicationConflict:
    named = re.search(r"\d+", refusal.detail or "")
    return DeduplicationConflict(refusal.message, first_message_id=int(named[0]) if named else None)


def _quota_exceeded(refusal: Refusal) -> QuotaExceeded:
    return QuotaExceeded(refusal.message, **json.loads(refusal.detail or "{}"), field=refusal.column)


def _in_maintenance(refusal: Refusal) -> InMaintenance:
    return InMaintenance(refusal.message, **json.loads(refusal.detail or "{}"))


def _queue_in_use(refusal: Refusal) -> QueueInUse:
    found = json.loads(refusal.detail or "{}")
    return QueueInUse(refusal.message, messages=found if "ready" in found else {})


_BY_SQLSTATE: dict[str, Callable[[Refusal], SignalboxError]] = {
    "SB400": lambda refusal: InvalidArgument(refusal.message, field=refusal.column),
    "SB404": _not_found,
    "SB409": _deduplication_conflict,
    "SB413": lambda refusal: PayloadTooLarge(refusal.message),
    "SB423": lambda refusal: QueueClosed(refusal.message),
    "SB424": _queue_in_use,
    "SB425": lambda refusal: WrongIsolation(refusal.message),
    "SB429": _quota_exceeded,
    "SB503": _in_maintenance,
    "22P02": _unstorable_payload,  # not JSON, or a lone surrogate
    "22P05": _unstorable_payload,  # \u0000
    # NUL, or bytes that are not the database's encoding
    "22021": lambda refusal: InvalidArgument(f"PostgreSQL cannot store this text: {refusal.message}"),
}
