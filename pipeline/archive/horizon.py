"""What is due for the archive: the engine's horizon, and how much lies between it and now.

The horizon is a transaction, not a time or a message: ids and clocks are drawn before a transaction commits, so whoever
goes on from the highest of them misses what was slower. Below the oldest transaction under way nothing can appear.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from pipeline.archive.parts import Counts

COUNTS = (Path(__file__).parent / "sql" / "counts.sql").read_text()
COUNT_MILLISECONDS = 600_000


@dataclass(frozen=True)
class Horizon:
    """Everything that transactions below `below` did is in the archive, and was by `moved_at`."""

    below: int
    moved_at: datetime
    holds: bool
    """History waits for the archive."""


def read() -> Horizon | None:
    """None before the first run."""
    rows = _rows("select h.below, h.moved_at, h.holds from signalbox.archive_horizon h")
    return Horizon(*rows[0]) if rows else None


def due() -> tuple[int, int]:
    """The window from the horizon to the oldest transaction under way; from now on history waits for it."""
    [(low, high)] = _rows("select low, high from signalbox.hold_for_archive()")
    return low, high


def move(low: int, high: int) -> bool:
    """In the transaction of the caller. False when the horizon is not at `low` any more."""
    [(moved,)] = _rows("select signalbox.move_archive_horizon(%s, %s)", low, high)
    return bool(moved)


def release() -> bool:
    """Let history be dropped whether it is in the archive or not. False when it did not wait."""
    [(released,)] = _rows("select signalbox.release_archive()")
    return bool(released)


def counts(low: int, high: int) -> dict[str, Counts]:
    """How many rows of each kind the window has, along its transactions."""
    found: dict[str, list[tuple[int, int]]] = {}
    with transaction.atomic():
        for name, value in (
            ("pipeline.low", low),
            ("pipeline.high", high),
            ("statement_timeout", COUNT_MILLISECONDS),
        ):
            _rows("select set_config(%s, %s, true)", name, str(value))
        for kind, txid, rows in _rows(COUNTS):
            found.setdefault(kind, []).append((txid, rows))
    return dict(found)


def log_place() -> str:
    """The end of the server's log: whoever has it up to here has all that was committed by now."""
    [(place,)] = _rows("select pg_current_wal_insert_lsn()::text")
    return str(place)


def _rows(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters or None)
        return list(cursor.fetchall())
