"""GET /v1/queues/{queue}/messages: browsing without receiving, with masks.

Operators' tools use it, so each call may hold a thread. It shares its address, and so its router, with sending.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Path
from pydantic import Field

from console.access.api_keys import Key
from console.api.core.authentication import ApiKey
from console.api.core.database import in_thread
from console.api.core.problems import Problem
from console.api.core.responses import answer, message_name
from console.api.messages.routes import MESSAGES, router
from console.api.messages.shapes import Death, PeekedMessage, PeekedMessages
from console.api.queues.known_queues import reached_queue
from console.api.redrives import reach
from dlq.export.rows import whole_dead_letters, whole_messages
from dlq.filters import parse
from dlq.masking.rules import Masking
from dlq.search.checked_filter import check_filter
from dlq.search.dead_letter_list import dead_letters
from dlq.search.message_list import TARGETS, messages
from dlq.search.pages import PagePosition
from queues.control.queues import get_queue
from queues.messages.lists import State
from queues.models import Queue
from signalbox.payloads.binary import content_type_of
from signalbox.payloads.unreadable import Unreadable, decode

__all__ = ["router"]

DEAD = "dead"
StateWord = Literal["ready", "scheduled", "waiting", "leased", "completed", "dead"]
Limit = Annotated[int, Field(ge=1, le=100)]
Cursor = Annotated[str, Field(json_schema_extra={"pattern": r"^[0-9]{1,18}(\.[0-9]{1,18})?$"})]
FilterText = Annotated[str, Field(max_length=2_000)]

_CURSORS = {True: re.compile(r"[0-9]{1,18}"), False: re.compile(r"[0-9]{1,17}\.[0-9]{1,18}")}
"""Patterns of cursors: True for lists of dead letters, False for lists of other messages."""


@router.get(MESSAGES, auth=ApiKey("peek"), response={200: PeekedMessages})
async def peek(
    request: Any,
    queue: Path[str],
    state: StateWord | None = None,
    filter: FilterText = "",
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> HttpResponse:
    """List messages of one state without receiving them; `filter` is a filter as in docs/operate/filters.md.

    The default state is ready, or dead for a dead-letter queue.
    """
    await reached_queue(request.auth, queue)
    return answer(200, await in_thread(_page, request.auth, queue, state, filter, limit, cursor))


def _page(key: Key, name: str, state: str | None, text: str, limit: int, cursor: str | None) -> dict[str, Any]:
    queue = get_queue(name)
    state = state or (DEAD if queue.is_dead_letter_queue else State.READY.value)
    if cursor is not None and not _CURSORS[state == DEAD].fullmatch(cursor):
        raise Problem.of_field("cursor", "cursor must be the nextCursor of another page of the same list")
    place = PagePosition(after=cursor or "")
    found, after = (
        _dead(key, queue, text, place, limit) if state == DEAD else _others(key, queue, state, text, place, limit)
    )
    return {"messages": found, "nextCursor": after or None}


def _others(
    key: Key, queue: Queue, state: str, text: str, place: PagePosition, limit: int
) -> tuple[list[dict[str, Any]], str]:
    if reach.holds_others(key, queue):  # for example dead letters that were received there
        raise Problem("not-reached", f"{queue.name!r} also keeps dead letters of queues that this key does not reach.")
    read, masking = parse(text), Masking()
    masking.check(read, queue.name)
    filter = check_filter(read, targets=(TARGETS[State(state)],))
    page = messages(queue.queue_id, State(state), filter, place, size=limit, with_payloads=False)
    rows = whole_messages(queue, page.rows, masking)
    return [_document(row, death=None) for row in rows], page.after


def _dead(key: Key, queue: Queue, text: str, place: PagePosition, limit: int) -> tuple[list[dict[str, Any]], str]:
    if not queue.is_dead_letter_queue:
        raise Problem.of_field("state", f"state is dead: the dead letters of {queue.name} are in its dead-letter queue")
    filter = reach.dead_letters_in(key, queue, text)
    page = dead_letters(filter, place, size=limit, with_payloads=False)
    rows = whole_dead_letters([row.dead_letter_id for row in page.rows], Masking())
    return [_document(row, state=DEAD, at=row["died_at"], death=Death.of(**row)) for row in rows], page.after


def _document(row: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    attributes = _value(row["attributes"])
    shown = {
        "deadline": None,
        **row,
        "message_id": message_name(row["message_id"]),
        "sequence": row["message_id"],
        "body": _value(row["payload"]),
        "content_type": content_type_of(attributes),
        "attributes": {"unreadable": attributes} if isinstance(attributes, str) else attributes,
        "message_group_id": row["group_id"],
        "deduplication_key": row["deduplication_id"],
        **others,
    }
    return PeekedMessage.of(**shown)


def _value(text: str | None) -> Any:
    """Return the parsed value, or its text if Python cannot parse it."""
    value = None if text is None else decode(text)
    return value.text if isinstance(value, Unreadable) else value
