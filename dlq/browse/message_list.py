"""The messages of one queue, by where they stand.

Ready ones, leased ones and completed ones come newest first; scheduled ones by what is due next; those that wait in
lanes by who has waited longest. Each list follows the index that the engine itself uses for that state; ready tickets
have one order for each priority, and so many lists are merged.
"""
# ruff: noqa: S608 - statements are put together from literals of this package; what people typed is bound

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, LiteralString

from django.utils import timezone

from dlq.browse.pages import PAGE_ROWS, Page, Place, page_of, payload_text
from dlq.filters import Filter, Predicate, Target
from dlq.finding import HIGHEST_ID, LOWEST_ID, Query
from dlq.patterns import check_patterns, too_slow
from dlq.time_limits import LIST_MILLISECONDS, OutOfTime, fewer, slice_limit, time_limit

# When there is no time to look everywhere, the nearest so many are looked at, then twice as many, while time lasts.
SLICE_ROWS = 2_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = re.compile(r"([0-9]{1,17})\.([0-9]{1,18})")  # microseconds and message id


class State(StrEnum):
    """Where a message stands; dead ones are `browse.dead_letters`."""

    READY = "ready"
    SCHEDULED = "scheduled"
    WAITING = "waiting"
    LEASED = "leased"
    COMPLETED = "completed"


@dataclass(frozen=True)
class MessageRow:
    """What a list shows of a message. `at` is when it became ready, is due, began to wait, was leased or was completed.

    `payload_text` is JSON, cut to 2,048 characters, or says how large the body in the store is; None when nobody
    asked, or when the body is gone.
    """

    message_id: int
    state: State
    priority: int | None
    receive_count: int
    at: datetime
    deadline: datetime | None
    consumer: str | None
    group_id: str | None
    trace_id: str | None
    sent_at: datetime | None
    payload_text: str | None


@dataclass(frozen=True)
class _Shape:
    """The table of a state, in the words of SQL; `moment` orders it."""

    target: Target
    table: LiteralString
    moment: LiteralString
    at: LiteralString
    ascending: bool = False
    priority: LiteralString = "t.priority"
    deadline: LiteralString = "null::timestamptz"
    consumer: LiteralString = "null::text"
    by_band: bool = False


_SHAPES = {
    State.READY: _Shape(Target.READY, "signalbox.ready", "t.ready_at", "t.ready_at", by_band=True),
    State.SCHEDULED: _Shape(Target.SCHEDULED, "signalbox.scheduled", "t.due_at", "t.due_at", ascending=True),
    State.WAITING: _Shape(Target.WAITING, "signalbox.waiting", "t.waiting_since", "t.waiting_since", ascending=True),
    State.LEASED: _Shape(
        Target.LEASE,
        "signalbox.lease",
        "t.deadline",
        "t.leased_at",
        deadline="t.deadline",
        consumer="t.consumer",
    ),
    State.COMPLETED: _Shape(
        Target.SETTLED,
        "(select s.queue_id, s.settled_at, s.consumer, one.message_id, one.receive_count"
        " from signalbox.settled s, unnest(s.message_ids, s.receive_counts) as one(message_id, receive_count)"
        " where s.outcome = 'a')",
        "t.settled_at",
        "t.settled_at",
        priority="m.priority",
        consumer="t.consumer",
    ),
}

# The log first, then the bodies that outlived their part of it.
_BODY: LiteralString = (
    " left join lateral ("
    "select m.* from signalbox.message m where m.queue_id = t.queue_id and m.message_id = t.message_id"
    " union all"
    " select k.message_id, k.queue_id, k.payload, k.attributes, k.group_id, k.deduplication_id, k.trace_id,"
    " k.priority, k.sent_at, k.txid, k.body_sha256, k.body_bytes"
    " from signalbox.message_kept k where k.queue_id = t.queue_id and k.message_id = t.message_id"
    " limit 1) m on true"
)


@dataclass(frozen=True)
class _Mark:
    """A row's place in the order: its moment and its message id."""

    moment: datetime | LiteralString
    message_id: int


_START = {True: _Mark("-infinity", LOWEST_ID), False: _Mark("infinity", HIGHEST_ID)}


def messages(
    queue_id: int,
    state: State,
    chosen: Filter,
    place: Place | None = None,
    *,
    now: datetime | None = None,
    size: int = PAGE_ROWS,
    with_payloads: bool = True,
) -> Page[MessageRow]:
    """A page of the queue's messages in one state that the filter selects. Raises `FilterError`.

    One query; a few more when time runs out. Without `with_payloads` no payload leaves the database.
    """
    place, shape = place or Place(), _SHAPES[state]
    matching = chosen.compile(shape.target, now or timezone.now())
    listing = _Listing(queue_id, shape, matching, shape.ascending is not place.backwards, with_payloads)
    start = _mark(place.before or place.after) or _START[listing.ascending]
    check_patterns(chosen)
    try:
        rows, horizon = listing.in_time(start, size + 1)
    except OutOfTime:
        raise too_slow(chosen) from None
    found = [MessageRow(row[0], state, *row[2:]) for row in rows]
    page = page_of(found, size, place, [_cursor(row[1], row[0]) for row in rows])
    if horizon is None or len(found) > size:
        return page
    return page.cut_short(_cursor(*horizon), horizon[0], place)


def _cursor(moment: datetime, message_id: int) -> str:
    return f"{(moment - EPOCH) // timedelta(microseconds=1)}.{message_id}"


def _mark(cursor: str) -> _Mark | None:
    """The mark in a cursor; an address that somebody edited leads to the first page."""
    found = _CURSOR.fullmatch(cursor)
    return _Mark(EPOCH + timedelta(microseconds=int(found[1])), int(found[2])) if found else None


@dataclass(frozen=True)
class _Listing:
    """Reads one list in one direction."""

    queue_id: int
    shape: _Shape
    matching: Predicate
    ascending: bool
    with_payloads: bool

    @property
    def _comparison(self) -> LiteralString:
        return ">" if self.ascending else "<"

    @property
    def _direction(self) -> LiteralString:
        return "asc" if self.ascending else "desc"

    def in_time(self, start: _Mark, limit: int) -> tuple[list[tuple[Any, ...]], tuple[datetime, int] | None]:
        """Rows after `start`; when that takes too long, as many of the nearest as time allows, and where those end."""
        end = _START[not self.ascending]
        try:
            with time_limit(LIST_MILLISECONDS):
                return self._full(start, end, limit).rows(), None
        except OutOfTime:
            pass
        rows: list[tuple[Any, ...]] = []
        slice_rows, ends_at = SLICE_ROWS, time.monotonic() + LIST_MILLISECONDS / 1000
        while True:
            nth = self._nth(start, slice_rows).rows()
            mark = _Mark(nth[0][1], nth[0][0]) if nth else end
            try:
                with slice_limit():
                    rows += self._full(start, mark, limit).rows()
            except OutOfTime:
                if slice_rows == 1:
                    raise
                slice_rows = fewer(slice_rows)
                continue
            if not nth:
                return rows, None
            if len(rows) >= limit or time.monotonic() >= ends_at:
                return rows, (nth[0][1], nth[0][0])
            start, slice_rows = mark, slice_rows * 2

    def _full(self, start: _Mark, end: _Mark, limit: int) -> Query:
        shape = self.shape
        payload: LiteralString = payload_text("m") if self.with_payloads else "null::text"
        columns = (
            f", {shape.priority} as priority, t.receive_count, {shape.at} as at, {shape.deadline} as deadline,"
            f" {shape.consumer} as consumer, m.group_id, m.trace_id, m.sent_at, {payload} as payload_text"
        )
        return self._ordered(columns + _FROM, _BODY, self.matching, start, end, limit)

    def _nth(self, start: _Mark, number: int) -> Query:
        end = _START[not self.ascending]
        rows = self._ordered(_FROM, "", Predicate("true", []), start, end, number)
        return Query(f"select * from ({rows.sql}) nearest offset {number - 1}", rows.params)

    def _ordered(
        self, columns: str, body: LiteralString, matching: Predicate, start: _Mark, end: _Mark, limit: int
    ) -> Query:
        """Rows between two marks; the comparison of `moment` alone is the one that an index understands."""
        shape, than, direction = self.shape, self._comparison, self._direction
        band: LiteralString = " and t.priority = band.kind" if shape.by_band else ""
        sql = (
            f"select t.message_id, {shape.moment} as moment{columns} {shape.table} t{body}"
            f" where t.queue_id = %s{band}"
            f" and {shape.moment} {than}= %s::timestamptz and {shape.moment} {_OPPOSITE[than]}= %s::timestamptz"
            f" and ({shape.moment}, t.message_id) {than} (%s::timestamptz, %s)"
            f" and ({shape.moment}, t.message_id) {_OPPOSITE[than]}= (%s::timestamptz, %s)"
            f" and {matching.sql} order by {shape.moment} {direction}, t.message_id {direction} limit %s"
        )
        marks = [start.moment, end.moment, start.moment, start.message_id, end.moment, end.message_id]
        params = [self.queue_id, *marks, *matching.params, limit]
        if not shape.by_band:
            return Query(sql, params)
        return Query(
            "select one.* from (select distinct kind from signalbox.head where queue_id = %s and kind < 10) band"
            f" cross join lateral ({sql}) one"
            f" order by one.moment {direction}, one.message_id {direction} limit %s",
            [self.queue_id, *params, limit],
        )


_FROM: LiteralString = " from"
_OPPOSITE: dict[LiteralString, LiteralString] = {"<": ">", ">": "<"}
