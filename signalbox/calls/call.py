"""One call of a verb: its SQL statement, the requests that ask a server for the same, and how each answer is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, LiteralString, TypeVar

import psycopg

from signalbox import arguments
from signalbox.calls.request import Requests
from signalbox.durations import Durations
from signalbox.messages import Message, handle_of

T = TypeVar("T")
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """The wait of a call that finds nothing: for how long, and for news of which queue or stream."""

    seconds: float
    queue: str | None = None
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call of a verb; `read` turns the rows of its statement into what the verb returns."""

    sql: LiteralString
    parameters: Mapping[str, Any]
    read: Callable[[list[Row]], T]
    #: Makes the HTTP requests of these parameters; None: the verb needs a database.
    requests: Callable[[Mapping[str, Any]], Requests[T]] | None = None
    #: Counts the seconds that the statement takes.
    durations: Durations | None = None
    #: Refuses a caller's connection on which the call must not be made.
    check: Callable[[psycopg.BaseConnection[Any]], None] | None = None
    wait: Wait | None = None


def only_value(rows: list[Row]) -> Any:
    """The value of an answer with one row and one column."""
    return rows[0][0]


def only_values(rows: list[Row]) -> list[Any]:
    """The values of an answer with one column."""
    return [row[0] for row in rows]


def handles_of(receipts: Iterable[Message | str]) -> list[str]:
    """The receipt handles of messages, or the handles themselves; one text is one handle."""
    handles = [receipts] if isinstance(receipts, str) else [handle_of(receipt) for receipt in receipts]
    return arguments.column("receipt_handles", handles, len(handles), arguments.text)


def each_or_none(values: Iterable[Any]) -> list[Any] | None:
    """A column of a batch; None instead of a column without any value."""
    column = list(values)
    return None if all(value is None for value in column) else column
