"""The rows of an export, batch by batch: dead letters the newest first, messages of a queue state by state.

Each batch is a few short statements of its own, by the indexes that serve the lists; what happens in between is seen
by the batches that follow. Dead letters that die after the beginning are left out.
"""
# ruff: noqa: S608 - statements are put together from literals of this package; what people typed is bound

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dlq import browse
from dlq.browse import MessageRow, Place, State
from dlq.exporting import Document, Row, Source
from dlq.filters import Filter, Target
from dlq.finding import Order, Query, Search, Span, database_now, find
from dlq.masking import Rules
from dlq.masking_rules import Masking, died_in
from dlq.patterns import check_patterns, too_slow
from dlq.selecting import IN_INDEX_ORDER, WINDOW_IDS, newest_id
from dlq.time_limits import OutOfTime, time_limit
from queues.models import Queue
from signalbox.unreadable import decode

BATCH_ROWS = 100  # with their whole payloads
WINDOW_MILLISECONDS = 30_000

LETTER_COLUMNS = (
    *("dead_letter_id", "message_id", "queue", "source_queue", "reason", "error_class", "fingerprint"),
    *("receive_count", "redrive_count", "priority", "group_id", "deduplication_id", "trace_id", "consumer"),
    *("sent_at", "first_failed_at", "last_failed_at", "died_at"),
)
MASKED_LETTER_COLUMNS = ("error", "details", "payload", "attributes", "body_sha256", "body_bytes")
MESSAGE_COLUMNS = (
    *("message_id", "state", "at", "priority", "receive_count", "deadline", "consumer"),
    *("group_id", "trace_id", "sent_at"),
)
MASKED_MESSAGE_COLUMNS = ("payload", "attributes", "deduplication_id", "body_sha256", "body_bytes")
TARGETS = {
    State.READY: Target.READY,
    State.LEASED: Target.LEASE,
    State.SCHEDULED: Target.SCHEDULED,
    State.WAITING: Target.WAITING,
    State.COMPLETED: Target.SETTLED,
}


def dead_letters(chosen: Filter, *, see_payloads: bool, reveal: bool = False) -> Source:
    """Those that the filter selects now; `reveal` leaves nothing masked. Raises `FilterError`."""
    as_of = database_now()
    chosen.compile(Target.DEAD_LETTER, as_of)
    search = find(chosen, as_of, Span(through=newest_id()))
    columns = (*LETTER_COLUMNS, *MASKED_LETTER_COLUMNS) if see_payloads else LETTER_COLUMNS
    masking = None if reveal else Masking()
    return Source("dead letters", str(chosen), columns, _letters(search, columns, masking), reveal=reveal)


def messages(
    queue: Queue, chosen: Filter, state: State | None = None, *, see_payloads: bool, reveal: bool = False
) -> Source:
    """A queue's messages in one state, or in every state that the filter leaves; `reveal` leaves nothing masked.

    Raises `FilterError`.
    """
    as_of = database_now()
    states = [state] if state else [one for one in State if chosen.admits(TARGETS[one])]
    for one in states:
        chosen.compile(TARGETS[one], as_of)
    check_patterns(chosen)
    columns = (*MESSAGE_COLUMNS, *MASKED_MESSAGE_COLUMNS) if see_payloads else MESSAGE_COLUMNS
    masked = _NOTHING_MASKED if reveal else _Masked(Masking(), queue.name)
    batches = _messages(queue.queue_id, states, chosen, as_of, masked if see_payloads else None)
    return Source(f"messages of {queue.name}", str(chosen), columns, batches, queue, reveal=reveal)


def whole_letters(ids: Sequence[int], masking: Masking) -> list[Row]:
    """These dead letters with all of their columns, the newest first."""
    return _letter_rows(ids, (*LETTER_COLUMNS, *MASKED_LETTER_COLUMNS), masking)


def whole_messages(queue: Queue, rows: Sequence[MessageRow], masking: Masking) -> list[Row]:
    """The messages of a queue's list with all of their columns, in its order."""
    bodies, masked = _bodies(queue.queue_id, rows), _Masked(masking, queue.name)
    return [_message(row, bodies, masked) for row in rows]


# ---- dead letters


def _letters(search: Search, columns: Sequence[str], masking: Masking | None) -> Iterator[Sequence[Row]]:
    through = search.span.through
    while (newest := _newest_up_to(through)) is not None:
        lowest = newest - WINDOW_IDS
        ids = _ids(search.within(Span(lowest, newest)))
        if not ids:
            yield []
        for start in range(0, len(ids), BATCH_ROWS):
            yield _letter_rows(ids[start : start + BATCH_ROWS], columns, masking)
        through = lowest


def _newest_up_to(through: int) -> int | None:
    found = Query(
        "select dead_letter_id from signalbox.dead_letter where dead_letter_id <= %s"
        " order by dead_letter_id desc limit 1",
        [through],
    ).rows()
    return int(found[0][0]) if found else None


def _ids(search: Search) -> list[int]:
    try:
        with time_limit(WINDOW_MILLISECONDS, **IN_INDEX_ORDER):
            return [row[0] for row in search.ids_within(WINDOW_IDS, Order.NEWEST_FIRST).rows()]
    except OutOfTime:
        raise too_slow(search.chosen) from None


def _letter_rows(ids: Sequence[int], columns: Sequence[str], masking: Masking | None) -> list[Row]:
    wanted = ", ".join(_SQL.get(column, f"d.{column}") for column in columns)
    found = Query(
        f"select {wanted} from signalbox.dead_letter d join signalbox.queue q on q.queue_id = d.queue_id"
        " where d.dead_letter_id = any(%s) order by d.dead_letter_id desc",
        [list(ids)],
    ).rows()
    rows = [dict(zip(columns, row, strict=True)) for row in found]
    return [_shown(row, masking.of_letters(row["source_queue"], row["queue"]) if masking else Rules()) for row in rows]


_SQL = {
    "queue": "q.name",
    "payload": "case when d.body_sha256 is null then d.payload::text end",
    "attributes": "d.attributes::text",
    "body_sha256": "encode(d.body_sha256, 'hex')",
}


# ---- messages


def _messages(
    queue_id: int, states: Sequence[State], chosen: Filter, as_of: datetime, masked: _Masked | None
) -> Iterator[Sequence[Row]]:
    """The messages of these states, in batches; without their bodies where `masked` is None."""
    for state in states:
        place: Place | None = Place()
        while place is not None:
            page = browse.messages(queue_id, state, chosen, place, now=as_of, size=BATCH_ROWS, with_payloads=False)
            bodies = {} if masked is None else _bodies(queue_id, page.rows)
            yield [_message(row, bodies, masked or _NOTHING_MASKED) for row in page.rows]
            place = Place(after=page.after) if page.after else None


@dataclass(frozen=True)
class _Masked:
    """The masking rules for the messages of a queue."""

    masking: Masking | None
    queue: str = ""

    def rules(self, attributes: str | None) -> Rules:
        if not self.masking:
            return Rules()
        return self.masking.of(self.queue, *died_in(decode(attributes or "null", "attributes")))


_NOTHING_MASKED = _Masked(None)


def _message(row: MessageRow, bodies: dict[int, tuple[Any, ...]], masked: _Masked) -> Row:
    body = bodies.get(row.message_id, (None,) * len(MASKED_MESSAGE_COLUMNS))
    columns = dict(zip(MASKED_MESSAGE_COLUMNS, body, strict=True))
    return _shown(
        {name: getattr(row, name) for name in MESSAGE_COLUMNS} | {"state": row.state.value} | columns,
        masked.rules(columns["attributes"]),
    )


def _bodies(queue_id: int, rows: Sequence[MessageRow]) -> dict[int, tuple[Any, ...]]:
    """Whole bodies by message id, from the log or from what outlived it."""
    ids = [row.message_id for row in rows]
    columns = (
        "message_id, case when body_sha256 is null then payload::text end, attributes::text, deduplication_id,"
        " encode(body_sha256, 'hex'), body_bytes"
    )
    found = Query(
        f"select {columns} from signalbox.message where queue_id = %s and message_id = any(%s)"
        f" union all select {columns} from signalbox.message_kept where queue_id = %s and message_id = any(%s)",
        [queue_id, ids, queue_id, ids],
    ).rows()
    return {row[0]: row[1:] for row in reversed(found)}


def _shown(row: dict[str, Any], rules: Rules) -> Row:
    """The row with masks over masked values and over texts that quote them."""
    if "payload" not in row:
        return row
    documents = {name: None if row[name] is None else Document(row[name]) for name in ("payload", "attributes")}
    if not rules:
        return row | documents
    payload, attributes = (None if text is None else decode(text, name) for name, text in documents.items())
    view = rules.view(payload, attributes, complete=row["payload"] is not None)
    shown = {"payload": view.payload(payload), "attributes": view.attributes(attributes)}
    texts = {name: view.text(row[name]) for name in ("error", "details") if name in row}
    return row | texts | {name: documents[name] and Document(_as_json(shown[name])) for name in documents}


def _as_json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False)
