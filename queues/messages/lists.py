"""Queries for the messages of one queue, by state.

Ready, leased and completed messages come newest first; of scheduled messages the one that is due next comes first, and
of messages that wait for their group the one that has waited longest. Each list follows the index that the engine
itself uses for that state; ready tickets have one order for each priority, and these lists are merged.
"""
# ruff: noqa: S608 - statements are put together from literals of this file and a condition, whose values are bound

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, LiteralString

from queues.database.query import Predicate, Query, fetch
from queues.database.sql_names import rendered
from queues.dead_letters.ids import HIGHEST_ID, LOWEST_ID
from queues.dead_letters.rows import payload_text


class State(StrEnum):
    """State of a message that is not dead."""

    READY = "ready"
    SCHEDULED = "scheduled"
    WAITING = "waiting"
    LEASED = "leased"
    COMPLETED = "completed"


@dataclass(frozen=True)
class Mark:
    """A position in a list: the time and the id of a row."""

    moment: datetime | LiteralString
    number: int


FIRST = {True: Mark("-infinity", LOWEST_ID), False: Mark("infinity", HIGHEST_ID)}
"""The position before the first row of an ascending (True) or descending list."""


@dataclass(frozen=True)
class _Table:
    """The table of a state and its columns, as SQL; `moment` orders its rows."""

    table: LiteralString
    moment: LiteralString
    at: LiteralString
    ascending: bool = False
    priority: LiteralString = "t.priority"
    deadline: LiteralString = "null::timestamptz"
    consumer: LiteralString = "null::text"
    by_priority: bool = False


_TABLES = {
    State.READY: _Table("signalbox.ready", "t.ready_at", "t.ready_at", by_priority=True),
    State.SCHEDULED: _Table("signalbox.scheduled", "t.due_at", "t.due_at", ascending=True),
    State.WAITING: _Table("signalbox.waiting", "t.waiting_since", "t.waiting_since", ascending=True),
    State.LEASED: _Table("signalbox.lease", "t.deadline", "t.leased_at", deadline="t.deadline", consumer="t.consumer"),
    State.COMPLETED: _Table(
        rendered(
            "(select s.queue_id, s.settled_at, s.consumer, one.message_id, one.receive_count"
            " from signalbox.settled s, unnest(s.message_ids, s.receive_counts) as one(message_id, receive_count)"
            " where s.outcome = {outcome.acked})"
        ),
        "t.settled_at",
        "t.settled_at",
        priority="m.priority",
        consumer="t.consumer",
    ),
}

# The log first, then the bodies that outlived their part of the log.
_BODY: LiteralString = (
    " left join lateral ("
    "select m.message_id, m.queue_id, m.payload, m.attributes, m.group_id, m.deduplication_id, m.trace_id,"
    " m.priority, m.sent_at, m.txid, m.body_sha256, m.body_bytes, m.expires_at"
    " from signalbox.message m where m.queue_id = t.queue_id and m.message_id = t.message_id"
    " union all"
    " select k.message_id, k.queue_id, k.payload, k.attributes, k.group_id, k.deduplication_id, k.trace_id,"
    " k.priority, k.sent_at, k.txid, k.body_sha256, k.body_bytes, k.expires_at"
    " from signalbox.message_kept k where k.queue_id = t.queue_id and k.message_id = t.message_id"
    " limit 1) m on true"
)


def is_ascending(state: State) -> bool:
    """Tell whether a list of this state begins with the earliest moment, unless it is sorted otherwise."""
    return _TABLES[state].ascending


@dataclass(frozen=True)
class MessageList:
    """One list, read up or down its moments; `matching` is a condition on `t` and `m`."""

    queue_id: int
    state: State
    matching: Predicate
    ascending: bool
    """Whether the earliest moment comes first."""
    with_payloads: bool

    @property
    def first(self) -> Mark:
        """Return the position before the first row."""
        return FIRST[self.ascending]

    @property
    def last(self) -> Mark:
        """Return the position behind the last row."""
        return FIRST[not self.ascending]

    def rows(self, start: Mark, end: Mark, limit: int) -> list[tuple[Any, ...]]:
        """Read at most `limit` messages behind `start`, up to `end`."""
        table = _TABLES[self.state]
        payload: LiteralString = payload_text("m") if self.with_payloads else "null::text"
        columns = (
            f", {table.priority} as priority, t.receive_count, {table.at} as at, {table.deadline} as deadline,"
            f" {table.consumer} as consumer, m.group_id, m.trace_id, m.sent_at, {payload} as payload_text"
        )
        return self._ordered(columns, _BODY, self.matching, start, end, limit).rows()

    def nth(self, start: Mark, number: int) -> Mark | None:
        """Return the position of the message `number` rows behind `start`; None when there are fewer."""
        rows = self._ordered("", "", Predicate("true", []), start, self.last, number)
        nearest = Query(f"select * from ({rows.sql}) nearest offset {number - 1}", rows.params).rows()
        return Mark(nearest[0][1], nearest[0][0]) if nearest else None

    def _ordered(
        self, columns: str, body: LiteralString, matching: Predicate, start: Mark, end: Mark, limit: int
    ) -> Query:
        """Write the statement. It compares `moment` alone, for the index, and together with the id."""
        table, direction = _TABLES[self.state], "asc" if self.ascending else "desc"
        behind, ahead = (">", "<") if self.ascending else ("<", ">")
        of_priority: LiteralString = " and t.priority = band.kind" if table.by_priority else ""
        sql = (
            f"select t.message_id, {table.moment} as moment{columns} from {table.table} t{body}"
            f" where t.queue_id = %s{of_priority}"
            f" and {table.moment} {behind}= %s::timestamptz and {table.moment} {ahead}= %s::timestamptz"
            f" and ({table.moment}, t.message_id) {behind} (%s::timestamptz, %s)"
            f" and ({table.moment}, t.message_id) {ahead}= (%s::timestamptz, %s)"
            f" and {matching.sql} order by {table.moment} {direction}, t.message_id {direction} limit %s"
        )
        marks = [start.moment, end.moment, start.moment, start.number, end.moment, end.number]
        params = [self.queue_id, *marks, *matching.params, limit]
        if not table.by_priority:
            return Query(sql, params)
        return Query(
            f"select one.* from ({_PRIORITIES}) band"
            f" cross join lateral ({sql}) one"
            f" order by one.moment {direction}, one.message_id {direction} limit %s",
            [self.queue_id, *params, limit],
        )


_PRIORITIES = rendered(
    "select distinct kind from signalbox.claim_floor where queue_id = %s and kind >= {priority.lowest}"
)


def bodies(queue_id: int, ids: Sequence[int]) -> dict[int, tuple[Any, ...]]:
    """Read whole bodies by message id, from the log or from what outlived it: BODY_COLUMNS of each."""
    columns = (
        "message_id, case when body_sha256 is null then payload::text end, attributes::text, deduplication_id,"
        " encode(body_sha256, 'hex'), body_bytes"
    )
    rows = Query(
        f"select {columns} from signalbox.message where queue_id = %s and message_id = any(%s)"
        f" union all select {columns} from signalbox.message_kept where queue_id = %s and message_id = any(%s)",
        [queue_id, list(ids), queue_id, list(ids)],
    ).rows()
    return {row[0]: row[1:] for row in reversed(rows)}


BODY_COLUMNS = ("payload", "attributes", "deduplication_id", "body_sha256", "body_bytes")


def newest_documents(queue_id: int, limit: int) -> Query:
    """Select (payload, attributes, hash of a large body) of the newest messages of a queue."""
    return Query(
        "select payload, attributes, body_sha256 from signalbox.message"
        " where queue_id = %s order by message_id desc limit %s",
        [queue_id, limit],
    )


def newest_message_id() -> int:
    """Return the highest message id that was given out; 0 when no message was ever sent."""
    return int(fetch("select coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0)")[0][0])
