"""Rows of exports, read in batches: dead letters from the newest on, messages of a queue state by state.

Each batch has short statements of its own, with the indexes of the lists; later batches see changes in between. A
dead letter that arrives after the start is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from dlq.export.files import Document, Row, Source
from dlq.filters import Filter
from dlq.masking.masks import Rules
from dlq.masking.rules import Masking, died_in
from dlq.search import message_list
from dlq.search.checked_filter import CheckedFilter
from dlq.search.finding import Search, find
from dlq.search.message_list import MessageRow
from dlq.search.pages import PagePosition
from dlq.search.selecting import IN_INDEX_ORDER, WINDOW_IDS
from queues.database.query import database_now
from queues.database.time_limits import OutOfTime, time_limit
from queues.dead_letters import rows as dead_letter_rows
from queues.dead_letters.ids import Order, Span, newest_id, next_id
from queues.messages.lists import BODY_COLUMNS, State
from queues.messages.lists import bodies as bodies_of
from queues.models import Queue
from signalbox.payloads.unreadable import decode

BATCH_ROWS = 100  # with their whole payloads
WINDOW_MILLISECONDS = 30_000

DEAD_LETTER_COLUMNS = (
    *("dead_letter_id", "message_id", "queue", "source_queue", "reason", "error_class", "fingerprint"),
    *("receive_count", "redrive_count", "priority", "group_id", "deduplication_id", "trace_id", "consumer"),
    *("sent_at", "first_failed_at", "last_failed_at", "died_at"),
)
MASKED_DEAD_LETTER_COLUMNS = ("error", "details", "payload", "attributes", "body_sha256", "body_bytes")
MESSAGE_COLUMNS = (
    *("message_id", "state", "at", "priority", "receive_count", "deadline", "consumer"),
    *("group_id", "trace_id", "sent_at"),
)
MASKED_MESSAGE_COLUMNS = BODY_COLUMNS


def dead_letters(filter: CheckedFilter, *, see_payloads: bool, reveal: bool = False) -> Source:
    """Select dead letters for an export; `reveal` shows masked values."""
    search = find(filter, database_now(), Span(through=newest_id()))
    columns = (*DEAD_LETTER_COLUMNS, *MASKED_DEAD_LETTER_COLUMNS) if see_payloads else DEAD_LETTER_COLUMNS
    masking = None if reveal else Masking()
    return Source("dead letters", str(filter), columns, _letters(search, columns, masking), reveal=reveal)


def messages(
    queue: Queue, filter: CheckedFilter, state: State | None = None, *, see_payloads: bool, reveal: bool = False
) -> Source:
    """Select messages of a queue for an export, in one or all states; `reveal` shows masked values."""
    states = states_of(filter.filter, state)
    columns = (*MESSAGE_COLUMNS, *MASKED_MESSAGE_COLUMNS) if see_payloads else MESSAGE_COLUMNS
    batches = _messages(queue, states, filter, database_now(), None if reveal else Masking(), see_payloads)
    return Source(f"messages of {queue.name}", str(filter), columns, batches, queue, reveal=reveal)


def states_of(filter: Filter, state: State | None) -> list[State]:
    """Return the requested state, or all states that the filter allows."""
    return [state] if state else [state for state in State if filter.admits(message_list.TARGETS[state])]


def whole_dead_letters(ids: Sequence[int], masking: Masking) -> list[Row]:
    """Return dead letters with all their columns, from the newest on."""
    return _dead_letter_rows(ids, (*DEAD_LETTER_COLUMNS, *MASKED_DEAD_LETTER_COLUMNS), masking)


def whole_messages(queue: Queue, rows: Sequence[MessageRow], masking: Masking) -> list[Row]:
    """Return messages of a queue's list with all their columns, in the order of the list."""
    bodies = bodies_of(queue.queue_id, [row.message_id for row in rows])
    return [_message(row, bodies, queue, masking) for row in rows]


# ---- dead letters


def _letters(search: Search, columns: Sequence[str], masking: Masking | None) -> Iterator[Sequence[Row]]:
    through = search.span.through
    while (newest := next_id(Span(through=through), Order.NEWEST_FIRST)) is not None:
        lowest = newest - WINDOW_IDS
        ids = _ids(search.within(Span(lowest, newest)))
        if not ids:
            yield []
        for start in range(0, len(ids), BATCH_ROWS):
            yield _dead_letter_rows(ids[start : start + BATCH_ROWS], columns, masking)
        through = lowest


def _ids(search: Search) -> list[int]:
    try:
        with time_limit(WINDOW_MILLISECONDS, **IN_INDEX_ORDER):
            return [row[0] for row in search.ids_within(WINDOW_IDS, Order.NEWEST_FIRST).rows()]
    except OutOfTime:
        raise search.filter.too_slow() from None


def _dead_letter_rows(ids: Sequence[int], columns: Sequence[str], masking: Masking | None) -> list[Row]:
    return [
        _shown(row, masking.of_dead_letters(row["source_queue"], row["queue"]) if masking else Rules())
        for row in dead_letter_rows.whole(ids, columns)
    ]


# ---- messages


def _messages(
    queue: Queue,
    states: Sequence[State],
    filter: CheckedFilter,
    as_of: datetime,
    masking: Masking | None,
    with_bodies: bool,
) -> Iterator[Sequence[Row]]:
    for state in states:
        place: PagePosition | None = PagePosition()
        while place is not None:
            page = message_list.messages(
                queue.queue_id, state, filter, place, now=as_of, size=BATCH_ROWS, with_payloads=False
            )
            bodies = bodies_of(queue.queue_id, [row.message_id for row in page.rows]) if with_bodies else {}
            yield [_message(row, bodies, queue, masking) for row in page.rows]
            place = PagePosition(after=page.after) if page.after else None


def _message(row: MessageRow, bodies: dict[int, tuple[Any, ...]], queue: Queue, masking: Masking | None) -> Row:
    body = bodies.get(row.message_id, (None,) * len(MASKED_MESSAGE_COLUMNS))
    columns = dict(zip(MASKED_MESSAGE_COLUMNS, body, strict=True))
    shown = {name: getattr(row, name) for name in MESSAGE_COLUMNS} | {"state": row.state.value} | columns
    if not masking:
        return _shown(shown, Rules())
    return _shown(shown, masking.of(queue.name, *died_in(decode(columns["attributes"] or "null", "attributes"))))


def _shown(row: dict[str, Any], rules: Rules) -> Row:
    """Mask the values of a row, and the texts that quote them."""
    if "payload" not in row:
        return row
    documents = {name: None if row[name] is None else Document(row[name]) for name in ("payload", "attributes")}
    if not rules:
        return row | documents
    payload, attributes = (None if text is None else decode(text, name) for name, text in documents.items())
    view = rules.view(payload, attributes, complete=row["payload"] is not None)
    shown = {"payload": view.payload(payload), "attributes": view.attributes(attributes)}
    texts = {name: view.text(row[name]) for name in ("error", "details") if name in row}
    written = {name: json.dumps(shown[name], ensure_ascii=False) for name in documents}
    return row | texts | {name: documents[name] and Document(written[name]) for name in documents}
