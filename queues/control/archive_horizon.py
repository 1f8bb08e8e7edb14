"""The horizon of the archive: up to which transaction history is archived, and how much lies after it.

The horizon is a transaction, not a time or a message: ids and clocks are drawn before a transaction commits, so an
archive that went on from the highest of them would miss slower transactions. Below the oldest transaction under way
nothing can appear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from queues.database.query import fetch, query_text

COUNTS = query_text("archive/counts")
STREAM_COUNTS = query_text("archive/stream_counts")
COUNT_MILLISECONDS = 600_000


@dataclass(frozen=True)
class Horizon:
    """The archive has had everything from transactions below `below` since `moved_at`."""

    below: int
    moved_at: datetime
    holds: bool
    """True when history waits for the archive."""


@dataclass(frozen=True)
class Positions:
    """Positions `low` to `high` of a partition, of which retention has left those from `first` on."""

    stream_id: int
    partition: int
    low: int
    first: int
    high: int


def read() -> Horizon | None:
    """Read the horizon; None before the first run."""
    rows = fetch("select h.below, h.moved_at, h.holds from signalbox.archive_horizon h")
    return Horizon(*rows[0]) if rows else None


def due() -> tuple[int, int]:
    """Return the window from the horizon to the oldest transaction under way, for which history waits from now on."""
    [(low, high)] = fetch("select low, high from signalbox.hold_for_archive()")
    return low, high


def unarchived_positions() -> list[Positions]:
    """Return the positions of each partition of each stream that are not archived and can be read."""
    return [Positions(*row) for row in fetch("select * from signalbox.unarchived_positions()")]


def move_position(stream_id: int, partition: int, low: int, high: int) -> bool:
    """Move the last archived position of a partition in the caller's transaction. False when it is not before `low`."""
    arguments = [stream_id, partition, low, high]
    [(moved,)] = fetch("select signalbox.move_archived_position(%s, %s, %s, %s)", arguments)
    return bool(moved)


def stream_counts(ranges: Sequence[Sequence[int]]) -> list[int]:
    """Count the messages of ranges (stream, partition, low, high)."""
    with transaction.atomic():
        for name, value in {"statement_timeout": COUNT_MILLISECONDS, "enable_seqscan": "off"}.items():
            fetch("select set_config(%s, %s, true)", [name, str(value)])
        return [rows for (rows,) in fetch(STREAM_COUNTS, [list(column) for column in zip(*ranges, strict=True)])]


def move(low: int, high: int) -> bool:
    """Move the horizon in the caller's transaction. False when it is not at `low` any more."""
    [(moved,)] = fetch("select signalbox.move_archive_horizon(%s, %s)", [low, high])
    return bool(moved)


def release() -> bool:
    """Stop history from waiting for the archive. False when it did not wait."""
    [(released,)] = fetch("select signalbox.release_archive()")
    return bool(released)


def counts(low: int, high: int) -> dict[str, list[tuple[int, int]]]:
    """Count the rows of each kind in the window, by transaction."""
    counts_of: dict[str, list[tuple[int, int]]] = {}
    with transaction.atomic():
        settings = {"pipeline.low": low, "pipeline.high": high, "statement_timeout": COUNT_MILLISECONDS}
        for name, value in settings.items():
            fetch("select set_config(%s, %s, true)", [name, str(value)])
        for kind, txid, rows in fetch(COUNTS):
            counts_of.setdefault(kind, []).append((txid, rows))
    return counts_of


def log_position() -> str:
    """Read the end of the server's log. A standby that replayed it up to here has all that is committed now."""
    [(position,)] = fetch("select pg_current_wal_insert_lsn()::text")
    return str(position)
