"""One call of a verb: its SQL statement, its HTTP requests, and the reading of either answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import psycopg

from signalbox import arguments
from signalbox.calls.request import Requests
from signalbox.durations import Durations
from signalbox.messages import Message, handle_of

T = TypeVar("T")
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """The wait of a call that finds no message: its length, and the queue or stream whose wake-ups end it."""

    seconds: float
    queue: str | None = None
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call of a verb; `read` turns the rows of its statement into the verb's return value."""

    sql: str
    parameters: Mapping[str, Any]
    read: Callable[[list[Row]], T]
    #: Makes the HTTP requests from the parameters; None for a verb that needs a database.
    requests: Callable[[Mapping[str, Any]], Requests[T]] | None = None
    #: Counts the seconds that the statement takes.
    durations: Durations | None = None
    #: Raises an error for a caller's connection on which the call must not be made.
    check: Callable[[psycopg.BaseConnection[Any]], None] | None = None
    wait: Wait | None = None
    #: The statement that takes pointers to large bodies, if the call's own does not.
    pointing_sql: str = ""


#: The names of SQL parameters for arguments whose own name SQL reserves or gives another meaning.
_SQL_NAMES = {"group": "group_name", "position": "through_position"}


def statement(function: str, parameters: str, columns: str = "") -> str:
    """Write the call of a SQL function with named parameters; `columns` are those of a function that returns a table.

    Every argument is a literal of this package, such as `"queue text, seconds double precision"`: values travel apart.
    """
    typed = [parameter.partition(" ") for parameter in parameters.split(", ")]
    arguments = ", ".join(f"{_SQL_NAMES.get(name, name)} => %({name})s::{kind}" for name, _, kind in typed)
    return f"select {columns and f'{columns} from '}signalbox.{function}({arguments})"  # noqa: S608 - literals of this package


class Function(Generic[T]):
    """A SQL function that is a verb: calling it with the values of its parameters checks them and makes a `Call`."""

    def __init__(
        self,
        name: str,
        parameters: str,
        read: Callable[[list[Row]], T],
        columns: str = "",
        requests: Callable[[Mapping[str, Any]], Requests[T]] | None = None,
    ) -> None:
        self._sql = statement(name, parameters, columns)
        self._names = [parameter.partition(" ")[0] for parameter in parameters.split(", ")]
        self._read = read
        self._requests = requests

    def __call__(self, *values: object) -> Call[T]:
        checked = arguments.checked(**dict(zip(self._names, values, strict=True)))
        return Call(self._sql, checked, self._read, self._requests)


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
    """A column of a batch; None if it has no value."""
    column = list(values)
    return None if all(value is None for value in column) else column
