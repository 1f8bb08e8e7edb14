"""Locations: the tables with contents of messages, each read in the order of its key, a page at a time.

A page has only rows that may hold the value: the database searches the text of each document for it. The caller parses
the document, and decides whether the value is at the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, LiteralString

from queues.database.query import Query, query_text

BEFORE_ALL = 1 - 2**63


@dataclass(frozen=True)
class Scope:
    """Scope of an erasure: queues (None: all), times of sending, and bounds that leave out later messages."""

    document: str
    """`payload` or `attributes`."""
    text: str
    """The value to erase, as text."""
    needles: tuple[str, str]
    """Two spellings; every document with the value has one of them."""
    queue_ids: Sequence[int] | None
    since: datetime | None
    until: datetime | None
    through_message_id: int
    through_dead_letter_id: int
    began: datetime
    names_queues: bool = False
    tenant: str = ""


@dataclass(frozen=True)
class Row:
    """A row that may hold the value: in a document, in the large body of this hash, or in a plain text."""

    queue_id: int | None
    message_id: int
    text: str | None
    sha256: bytes | None
    key: tuple[Any, ...] = ()
    plain: bool = False


@dataclass(frozen=True)
class Page:
    """A page of a location. `after` is the key of its last row; None at the end."""

    rows: Sequence[Row]
    looked: int
    after: Sequence[Any] | None


@dataclass(frozen=True)
class Location:
    """A table with a key of `keys` numbers. `rows` selects its rows above a key: `erasure/page.sql` has the columns.

    A table that has parts, such as segments, is read part by part: the first number of a key is the part, and `parts`
    selects the next one.
    """

    name: str
    words: str
    table: LiteralString
    keys: int
    rows: LiteralString
    parts: LiteralString = ""
    of_queues: bool = True
    """False for a table whose rows belong to no queue: the queues of a scope do not restrict it."""

    def page(self, scope: Scope, after: Sequence[Any], limit: int) -> Page:
        """Read at most `limit` rows above a key."""
        key = [int(number) for number in after] or [BEFORE_ALL] * self.keys
        scope = scope if self.of_queues else replace(scope, queue_ids=None)
        params = asdict(scope) | {"limit": limit}
        params["needle"], params["other_needle"] = scope.needles
        if self.parts:
            parts = Query(self.parts, params | {"part": key[0]}).rows()
            if not parts:
                return Page((), 0, None)
            key = key if parts[0][0] == key[0] else self._beginning_of(int(parts[0][0]))
        params |= {f"after{index}": number for index, number in enumerate(key)}
        selected = Query(_PAGE.replace("{rows}", self.rows), params).rows()
        rows = [
            Row(queue_id, message_id, text, None if sha256 is None else bytes(sha256), tuple(found_key))
            for found_key, queue_id, message_id, text, sha256 in selected
            if text is not None or sha256 is not None
        ]
        if len(selected) == limit:
            return Page(rows, len(selected), list(selected[-1][0]))
        return Page(rows, len(selected), self._beginning_of(key[0] + 1) if self.parts else None)

    def estimate(self) -> int:
        """Return how many rows there are, by the statistics of the database."""
        return rows_of(self.table)

    def _beginning_of(self, part: int) -> list[int]:
        return [part, *[BEFORE_ALL] * (self.keys - 1)]


_PAGE = query_text("erasure/page")


def rows_of(table: str) -> int:
    """Return how many rows a table and its partitions have, by the statistics of the database."""
    [(rows,)] = Query(
        "select coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint from pg_class c where c.oid in"
        " (select relid from pg_partition_tree(%s::regclass) where isleaf) or c.oid = %s::regclass and c.relkind = 'r'",
        [table, table],
    ).rows()
    return int(rows)


LOG = Location(
    "log",
    "the log: live and ended messages",
    "signalbox.message",
    keys=3,
    parts=query_text("erasure/log_part"),
    rows=query_text("erasure/log"),
)
KEPT = Location(
    "kept",
    "kept bodies: redriven messages and long delays",
    "signalbox.message_kept",
    keys=2,
    rows=query_text("erasure/kept"),
)
DEAD = Location(
    "dead",
    "dead letters",
    "signalbox.dead_letter",
    keys=1,
    rows=query_text("erasure/dead"),
)
TRASH = Location(
    "trash",
    "the trash: dead letters that were deleted",
    "signalbox.trash",
    keys=3,
    rows=query_text("erasure/trash"),
)
REWRITTEN = Location(
    "rewritten",
    "payloads as they were before a redrive changed them",
    "signalbox.rewritten",
    keys=2,
    rows=query_text("erasure/rewritten"),
)
# Streams belong to no queue: an erasure that names queues leaves them out.
STREAMS = Location(
    "streams",
    "streams",
    "signalbox.stream_message",
    keys=3,
    of_queues=False,
    parts=query_text("erasure/streams_part"),
    rows=query_text("erasure/streams"),
)
