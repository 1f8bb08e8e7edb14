"""A page of the messages of one queue in one state."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from dlq.filters import Target
from dlq.search.checked_filter import CheckedFilter
from dlq.search.pages import PAGE_ROWS, Page, PagePosition, page_of, read_in_time
from queues.database.time_limits import OutOfTime
from queues.messages.lists import Mark, MessageList, State, is_ascending

SLICE_ROWS = 2_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = re.compile(r"([0-9]{1,17})\.([0-9]{1,18})")  # microseconds and message id
TARGETS = {
    State.READY: Target.READY,
    State.LEASED: Target.LEASE,
    State.SCHEDULED: Target.SCHEDULED,
    State.WAITING: Target.WAITING,
    State.COMPLETED: Target.SETTLED,
}


@dataclass(frozen=True)
class MessageRow:
    """Row of a list of messages. `at` is when it became ready, is due, began to wait, was leased or was completed.

    `payload_text` is JSON, cut to 2,048 characters, or says how large the body in the store is; None when it was
    not asked for, or when the body is gone.
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


def messages(
    queue_id: int,
    state: State,
    filter: CheckedFilter,
    place: PagePosition | None = None,
    *,
    now: datetime | None = None,
    size: int = PAGE_ROWS,
    with_payloads: bool = True,
    ascending: bool | None = None,
) -> Page[MessageRow]:
    """Return a page of the queue's messages in one state that the filter selects. Raises `FilterError`.

    One query; a few more when time runs out. Without `with_payloads` no payload leaves the database. `ascending` lists
    the earliest moment first, by default where `is_ascending` of the state says so.
    """
    place, upwards = place or PagePosition(), is_ascending(state) if ascending is None else ascending
    matching = filter.compile(TARGETS[state], now or timezone.now())
    found = MessageList(queue_id, state, matching, upwards is not place.backwards, with_payloads)
    try:
        rows, ended = read_in_time(found, _mark(place.before or place.after) or found.first, size + 1, SLICE_ROWS)
    except OutOfTime:
        raise filter.too_slow() from None
    shown = [MessageRow(row[0], state, *row[2:]) for row in rows]
    page = page_of(shown, size, place, [_cursor(Mark(row[1], row[0])) for row in rows])
    return page if ended is None or len(shown) > size else page.cut_short(_cursor(ended), ended, place)


def _cursor(mark: Mark) -> str:
    moment = mark.moment if isinstance(mark.moment, datetime) else EPOCH
    return f"{(moment - EPOCH) // timedelta(microseconds=1)}.{mark.number}"


def _mark(cursor: str) -> Mark | None:
    """Return the mark in a cursor; an address that was edited leads to the first page."""
    found = _CURSOR.fullmatch(cursor)
    return Mark(EPOCH + timedelta(microseconds=int(found[1])), int(found[2])) if found else None
