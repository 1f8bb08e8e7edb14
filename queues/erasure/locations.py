"""Locations: the tables that keep what messages carried, each read in the order of its key, some rows at a time.

Only what may hold the value is returned: the database looks for its spelling in the text of each document, and whether
it is at the path is decided by a reader of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, LiteralString

from queues.database.query import Query

BEFORE_ALL = 1 - 2**63


@dataclass(frozen=True)
class Scope:
    """Scope of an erasure: some queues by id, or all; a time of sending; up to both bounds; before it began."""

    document: str
    """`payload` or `attributes`."""
    text: str
    """The value, as a string."""
    needles: tuple[str, str]
    """Texts of which one is part of every document that holds the value."""
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
    """Row that may hold the value: in a document, in the body of this hash, or in a plain text."""

    queue_id: int | None
    message_id: int
    text: str | None
    sha256: bytes | None
    key: tuple[Any, ...] = ()
    plain: bool = False


@dataclass(frozen=True)
class Page:
    """Some rows of a location. `after` is the key of the last; None when there is nothing behind."""

    rows: Sequence[Row]
    looked: int
    after: Sequence[Any] | None


@dataclass(frozen=True)
class Location:
    """A table with a key of `keys` numbers. `rows` selects it behind a key: see `_PAGE` for the columns.

    A table in parts, of which the first number of the key tells, is read part by part: `parts` selects the next.
    """

    name: str
    words: str
    table: LiteralString
    keys: int
    rows: LiteralString
    parts: LiteralString = ""
    of_queues: bool = True
    """Whether its rows are of queues; else queues that are named leave nothing out."""

    def page(self, scope: Scope, after: Sequence[Any], limit: int) -> Page:
        """Read at most `limit` rows behind a key."""
        key = [int(number) for number in after] or [BEFORE_ALL] * self.keys
        scope = scope if self.of_queues else replace(scope, queue_ids=None)
        params = asdict(scope) | {"limit": limit}
        params["one"], params["other"] = scope.needles
        if self.parts:
            parts = Query(self.parts, params | {"part": key[0]}).rows()
            if not parts:
                return Page((), 0, None)
            key = key if parts[0][0] == key[0] else self._beginning_of(int(parts[0][0]))
        params |= {f"after{place}": number for place, number in enumerate(key)}
        found = Query(_PAGE.replace("{rows}", self.rows), params).rows()
        rows = [
            Row(queue_id, message_id, text, None if sha256 is None else bytes(sha256), tuple(found_key))
            for found_key, queue_id, message_id, text, sha256 in found
            if text is not None or sha256 is not None
        ]
        if len(found) == limit:
            return Page(rows, len(found), list(found[-1][0]))
        return Page(rows, len(found), self._beginning_of(key[0] + 1) if self.parts else None)

    def estimate(self) -> int:
        """Return how many rows there are, by the statistics of the database."""
        return rows_of(self.table)

    def _beginning_of(self, part: int) -> list[int]:
        return [part, *[BEFORE_ALL] * (self.keys - 1)]


_PAGE = """
select p.key, p.queue_id, p.message_id,
  case when o.applies and o.may_hold then d.text end,
  case when o.applies and %(document)s = 'payload' then p.body_sha256 end
from ({rows} limit %(limit)s) p (key, queue_id, message_id, payload, attributes, body_sha256, sent_at)
cross join lateral (
  select case %(document)s when 'payload' then p.payload::text else p.attributes::text end as text offset 0
) d
cross join lateral (
  select
    (%(queue_ids)s::int[] is null or p.queue_id = any(%(queue_ids)s::int[]))
    and (%(since)s::timestamptz is null or p.sent_at >= %(since)s::timestamptz)
    and (%(until)s::timestamptz is null or p.sent_at < %(until)s::timestamptz) as applies,
    strpos(d.text, %(one)s) > 0 or strpos(d.text, %(other)s) > 0 as may_hold
) o
order by p.key
"""


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
    "the log: messages under way, and what ended",
    "signalbox.message",
    keys=3,
    parts="""
select s.segment_number
from signalbox._segments() s (segment_number)
where s.segment_number >= %(part)s and s.segment_number * 1000000 < %(through_message_id)s
order by 1
limit 1
""",
    rows="""
select array[%(after0)s::bigint, t.queue_id, t.message_id], t.queue_id, t.message_id, t.payload, t.attributes,
  t.body_sha256, t.sent_at
from signalbox.message t
where t.message_id > %(after0)s::bigint * 1000000 and t.message_id <= (%(after0)s::bigint + 1) * 1000000
  and (t.queue_id, t.message_id) > (%(after1)s::bigint, %(after2)s::bigint) and t.message_id <= %(through_message_id)s
order by t.queue_id, t.message_id
""",
)
KEPT = Location(
    "kept",
    "bodies kept beyond their part of the log: what was redriven, or rests for long",
    "signalbox.message_kept",
    keys=2,
    rows="""
select array[t.queue_id, t.message_id], t.queue_id, t.message_id, t.payload, t.attributes, t.body_sha256, t.sent_at
from signalbox.message_kept t
where (t.queue_id, t.message_id) > (%(after0)s::bigint, %(after1)s::bigint) and t.message_id <= %(through_message_id)s
order by t.queue_id, t.message_id
""",
)
DEAD = Location(
    "dead",
    "dead letters",
    "signalbox.dead_letter",
    keys=1,
    rows="""
select array[t.dead_letter_id], t.source_queue_id, t.message_id, t.payload, t.attributes, t.body_sha256, t.sent_at
from signalbox.dead_letter t
where t.dead_letter_id > %(after0)s::bigint and t.dead_letter_id <= %(through_dead_letter_id)s
order by t.dead_letter_id
""",
)
TRASH = Location(
    "trash",
    "the trash: dead letters that were deleted",
    "signalbox.trash",
    keys=3,
    rows="""
select array[t.trash_batch_id, t.position, t.message_id], t.queue_id, t.message_id, t.letter -> 'payload',
  t.letter -> 'attributes', case when t.letter is not null then t.body_sha256 end,
  (t.letter ->> 'sent_at')::timestamptz
from signalbox.trash t
where (t.trash_batch_id, t.position, t.message_id) > (%(after0)s::bigint, %(after1)s::bigint, %(after2)s::bigint)
order by t.trash_batch_id, t.position, t.message_id
""",
)
REWRITTEN = Location(
    "rewritten",
    "payloads as they were before a redrive changed them",
    "signalbox.rewritten",
    keys=2,
    rows="""
select array[t.message_id, t.dead_letter_id],
  (
    select r.queue_id
    from signalbox.redriven r
    where r.message_id = t.message_id and r.dead_letter_id = t.dead_letter_id
    limit 1
  ),
  t.message_id, t.payload, null::jsonb, null::bytea,
  coalesce((
    select k.sent_at
    from signalbox.redriven r
    join signalbox.message_kept k using (queue_id, message_id)
    where r.message_id = t.message_id and r.dead_letter_id = t.dead_letter_id
    limit 1
  ), t.rewritten_at)
from signalbox.rewritten t
where (t.message_id, t.dead_letter_id) > (%(after0)s::bigint, %(after1)s::bigint)
order by t.message_id, t.dead_letter_id
""",
)
# Streams are of no queue: an erasure that names queues means none of them.
STREAMS = Location(
    "streams",
    "streams",
    "signalbox.stream_message",
    keys=3,
    of_queues=False,
    parts="""
select s.stream_id
from signalbox.stream s
join signalbox.tenant o using (tenant_id)
where s.stream_id >= %(part)s and not %(names_queues)s and %(tenant)s in ('', o.name)
order by 1
limit 1
""",
    rows="""
select array[t.stream_id, t.partition, t.position], null::int, t.position, t.payload, t.attributes,
  null::bytea, t.appended_at
from signalbox.stream_message t
where t.stream_id = %(after0)s and (t.partition, t.position) > (%(after1)s::bigint, %(after2)s::bigint)
  and t.appended_at <= %(began)s
order by t.partition, t.position
""",
)
