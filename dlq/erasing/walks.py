"""Where payloads lie, and reading each such place in order of its key, some rows at a time.

Only what may hold the value comes here: the database looks for its spelling in the text of each document, and whether
it is at the path is asked of the document itself (`target`).
"""
# ruff: noqa: S608 - statements are put together from literals of this module and a segment's number; the rest is bound

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString, Protocol

from django.db import ProgrammingError, transaction
from psycopg.errors import UndefinedTable

from dlq.erasing.target import Target
from dlq.finding import Query

Cursor = Sequence[Any]


@dataclass(frozen=True)
class Scope:
    """Which messages are meant: of some queues by id, or of all; sent in a time; up to both bounds; before it began."""

    target: Target
    queue_ids: Sequence[int] | None
    since: Any
    until: Any
    through_message_id: int
    through_dead_letter_id: int
    began: Any
    names_queues: bool = False
    tenant: str = ""


@dataclass(frozen=True)
class Row:
    """One that may hold the value: in a document, in the body of this hash, or in a plain text."""

    queue_id: int | None
    message_id: int
    text: str | None
    sha256: bytes | None
    key: tuple[Any, ...] = ()
    plain: bool = False


@dataclass(frozen=True)
class Slice:
    """Some rows of a place. `after` is the key of the last; None when there is nothing behind."""

    rows: Sequence[Row]
    looked: int
    after: Cursor | None


class Walk(Protocol):
    """A place that is walked through."""

    @property
    def name(self) -> str: ...

    @property
    def words(self) -> str:
        """What it is, for people."""
        ...

    def slice(self, scope: Scope, after: Cursor, limit: int) -> Slice: ...

    def estimate(self) -> int:
        """How many rows there are, by the statistics of the database."""
        ...


@dataclass(frozen=True)
class Table:
    """A table with a key of numbers. The texts are SQL of its columns; `queue` may be null where nobody knows."""

    name: str
    words: str
    table: LiteralString
    keys: tuple[LiteralString, ...]
    queue: LiteralString
    message: LiteralString
    payload: LiteralString
    attributes: LiteralString
    body: LiteralString
    sent_at: LiteralString
    bound: LiteralString = "true"

    def slice(self, scope: Scope, after: Cursor, limit: int) -> Slice:
        return read(self, self.table, scope, after, limit)

    def estimate(self) -> int:
        return rows_of(self.table)


@dataclass(frozen=True)
class Log:
    """The log, segment by segment, each in the order of its key: its rows are those of messages under way and over."""

    name: str = "log"
    words: str = "the log: messages under way, and what ended"

    def slice(self, scope: Scope, after: Cursor, limit: int) -> Slice:
        segment, *rest = after or [-1]
        found = Query(
            "select s.segment_number from signalbox.segment s where s.segment_number >= %s"
            " and s.segment_number * 1000000 < %s order by 1 limit 1",
            [segment, scope.through_message_id],
        ).rows()
        if not found:
            return Slice((), 0, None)
        at = int(found[0][0])
        part = self._segment(at, scope, rest if at == segment else (), limit)
        return Slice(part.rows, part.looked, [at + 1] if part.after is None else [at, *part.after])

    def _segment(self, number: int, scope: Scope, after: Cursor, limit: int) -> Slice:
        """One that has gone meanwhile left what is still needed among the kept bodies, which come later."""
        try:
            with transaction.atomic():
                return read(_SEGMENT, f"signalbox.message_{number:d}", scope, after, limit)
        except ProgrammingError as error:
            if isinstance(error.__cause__, UndefinedTable):
                return Slice((), 0, None)
            raise

    def estimate(self) -> int:
        return rows_of("signalbox.message")


def read(table: Table, name: str, scope: Scope, after: Cursor, limit: int) -> Slice:
    """Some rows of this table, which is described by the other: one of its partitions, perhaps."""
    keys = ", ".join(table.keys)
    behind = f"({keys}) > ({', '.join(['%s::bigint'] * len(table.keys))})" if after else "true"
    document = table.payload if scope.target.part == "payload" else table.attributes
    body = table.body if scope.target.part == "payload" else "null::bytea"
    sql = f"""
select {keys}, {table.queue}, {table.message},
  case when o.applies and o.may_hold then d.text end,
  case when o.applies then {body} end
from {name} t
cross join lateral (select ({document})::text as text offset 0) d
cross join lateral (
  select
    (%(queues)s::int[] is null or {table.queue} = any(%(queues)s::int[]))
    and (%(since)s::timestamptz is null or {table.sent_at} >= %(since)s::timestamptz)
    and (%(until)s::timestamptz is null or {table.sent_at} < %(until)s::timestamptz) as applies,
    strpos(d.text, %(one)s) > 0 or strpos(d.text, %(other)s) > 0 as may_hold
) o
where {_named(behind, len(after))} and {table.bound}
order by {keys}
limit %(limit)s
"""
    one, other = scope.target.needles
    params: dict[str, Any] = {
        "queues": None if scope.queue_ids is None else list(scope.queue_ids),
        "since": scope.since,
        "until": scope.until,
        "one": one,
        "other": other,
        "through_message": scope.through_message_id,
        "through_letter": scope.through_dead_letter_id,
        "began": scope.began,
        "limit": limit,
        **{f"after{place}": key for place, key in enumerate(after)},
    }
    found = Query(sql, params).rows()  # type: ignore[arg-type]
    last = [int(key) for key in found[-1][: len(table.keys)]] if len(found) == limit else None
    return Slice(list(_candidates(found, len(table.keys))), len(found), last)


def _named(condition: str, count: int) -> str:
    """Psycopg takes names or places, not both."""
    for place in range(count):
        condition = condition.replace("%s", f"%(after{place})s", 1)
    return condition


def _candidates(found: Sequence[tuple[Any, ...]], keys: int) -> Iterator[Row]:
    for row in found:
        queue_id, message_id, text, sha256 = row[keys:]
        if text is not None or sha256 is not None:
            yield Row(queue_id, message_id, text, None if sha256 is None else bytes(sha256), tuple(row[:keys]))


def rows_of(table: str) -> int:
    """How many rows a table and its partitions have, by the statistics of the database."""
    [(rows,)] = Query(
        "select coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint from pg_class c where c.oid in"
        " (select relid from pg_partition_tree(%s::regclass) where isleaf) or c.oid = %s::regclass and c.relkind = 'r'",
        [table, table],
    ).rows()
    return int(rows)


_SEGMENT = Table(
    name="log",
    words="",
    table="signalbox.message",
    keys=("t.queue_id", "t.message_id"),
    queue="t.queue_id",
    message="t.message_id",
    payload="t.payload",
    attributes="t.attributes",
    body="t.body_sha256",
    sent_at="t.sent_at",
    bound="t.message_id <= %(through_message)s",
)
KEPT = Table(
    name="kept",
    words="bodies kept beyond their part of the log: what was redriven, or rests for long",
    table="signalbox.message_kept",
    keys=("t.queue_id", "t.message_id"),
    queue="t.queue_id",
    message="t.message_id",
    payload="t.payload",
    attributes="t.attributes",
    body="t.body_sha256",
    sent_at="t.sent_at",
    bound="t.message_id <= %(through_message)s",
)
DEAD = Table(
    name="dead",
    words="dead letters",
    table="signalbox.dead_letter",
    keys=("t.dead_letter_id",),
    queue="t.source_queue_id",
    message="t.message_id",
    payload="t.payload",
    attributes="t.attributes",
    body="t.body_sha256",
    sent_at="t.sent_at",
    bound="t.dead_letter_id <= %(through_letter)s",
)
TRASH = Table(
    name="trash",
    words="the trash: dead letters that were deleted",
    table="signalbox.trash",
    keys=("t.removal_id", "t.turn", "t.message_id"),
    queue="t.queue_id",
    message="t.message_id",
    payload="t.letter -> 'payload'",
    attributes="t.letter -> 'attributes'",
    body="case when t.letter is not null then t.body_sha256 end",
    sent_at="(t.letter ->> 'sent_at')::timestamptz",
)
REWRITTEN = Table(
    name="rewritten",
    words="payloads as they were before a redrive changed them",
    table="signalbox.rewritten",
    keys=("t.message_id", "t.dead_letter_id"),
    queue=(
        "(select r.queue_id from signalbox.redriven r"
        " where r.message_id = t.message_id and r.dead_letter_id = t.dead_letter_id limit 1)"
    ),
    message="t.message_id",
    payload="t.payload",
    attributes="null::jsonb",
    body="null::bytea",
    sent_at=(
        "coalesce((select k.sent_at"
        " from signalbox.redriven r join signalbox.message_kept k using (queue_id, message_id)"
        " where r.message_id = t.message_id and r.dead_letter_id = t.dead_letter_id limit 1), t.rewritten_at)"
    ),
)
TRASH_AGAIN = replace(TRASH, name="trash_again", words="the trash once more: what was deleted meanwhile")
