"""One SQL statement with its parameters and the reading of its answer, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, LiteralString, TypeVar

from signalbox import arguments
from signalbox.durations import Durations
from signalbox.messages import Message, handle_of

T = TypeVar("T")
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Statement(Generic[T]):
    """One statement; `read` turns its rows into what the verb returns."""

    sql: LiteralString
    parameters: Mapping[str, Any]
    read: Callable[[list[Row]], T]
    durations: Durations | None = None
    """Where the time it takes is counted."""


def only_value(rows: list[Row]) -> Any:
    """Of an answer of one row and one column."""
    return rows[0][0]


def handles_of(receipts: Iterable[Message | str]) -> list[str]:
    """The receipt handles of messages, or the handles themselves; one text is one handle."""
    handles = [receipts] if isinstance(receipts, str) else [handle_of(receipt) for receipt in receipts]
    return arguments.column("receipt_handles", handles, len(handles), arguments.text)
