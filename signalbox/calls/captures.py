"""Captures: changes of a table as messages of a stream. They need a database."""

from __future__ import annotations

from collections.abc import Sequence

from signalbox import arguments
from signalbox.calls.call import Call, only_value, statement

_CAPTURE = statement(
    "capture", "table_name text, stream text, columns text[], key text[], filter text, backfill boolean"
)
_UNCAPTURE = statement("uncapture", "table_name text, stream text")


def capture(
    table: str,
    stream: str,
    columns: Sequence[str] | None,
    key: Sequence[str] | None,
    filter: str,
    backfill: bool,
) -> Call[int]:
    values = {
        "table_name": arguments.storable_text(table),
        "stream": arguments.storable_text(stream),
        "columns": None if columns is None else list(columns),
        "key": None if key is None else list(key),
        "filter": arguments.storable_text(filter),
        "backfill": backfill,
    }
    return Call(_CAPTURE, values, only_value)


def uncapture(table: str, stream: str) -> Call[bool]:
    return Call(_UNCAPTURE, {"table_name": table, "stream": stream}, only_value)
