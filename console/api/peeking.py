"""GET /v1/queues/{queue}/messages: reading without taking, masked. For people's tools, so a call has a thread.

It has its address in common with sending, and so its router.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Path
from pydantic import Field

from console.api import reach
from console.api.answers import answer, message_name, moment
from console.api.authentication import ApiKey
from console.api.database import in_thread
from console.api.known_queues import reached_queue
from console.api.messages import MESSAGES, router
from console.api.problems import Problem
from console.api.wire.peeking import PeekedMessages
from console.api_keys import Key
from dlq import browse
from dlq.browse import Place, State
from dlq.export_rows import whole_letters, whole_messages
from dlq.filters import parse
from dlq.masking_rules import Masking
from queues.control import get_queue
from queues.models import Queue
from signalbox.unreadable import Unreadable, decode

__all__ = ["router"]

DEAD = "dead"
StateWord = Literal["ready", "scheduled", "waiting", "leased", "completed", "dead"]
Limit = Annotated[int, Field(ge=1, le=100)]
Cursor = Annotated[str, Field(json_schema_extra={"pattern": r"^[0-9]{1,18}(\.[0-9]{1,18})?$"})]
FilterText = Annotated[str, Field(max_length=2_000)]

_CURSORS = {True: re.compile(r"[0-9]{1,18}"), False: re.compile(r"[0-9]{1,17}\.[0-9]{1,18}")}
"""Of dead letters, and of others."""


@router.get(MESSAGES, auth=ApiKey("peek"), response={200: PeekedMessages})
async def peek(
    request: Any,
    queue: Path[str],
    state: StateWord | None = None,
    filter: FilterText = "",
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> HttpResponse:
    """Read messages of one state without taking them; `filter` is in the language of docs/filters.md.

    Without a state those that are ready, in a dead-letter queue the dead ones.
    """
    await reached_queue(request.auth, queue)
    return answer(200, await in_thread(_page, request.auth, queue, state, filter, limit, cursor))


def _page(key: Key, name: str, state: str | None, text: str, limit: int, cursor: str | None) -> dict[str, Any]:
    queue = get_queue(name)
    state = state or (DEAD if queue.is_dead_letter_queue else State.READY.value)
    if cursor is not None and not _CURSORS[state == DEAD].fullmatch(cursor):
        raise Problem.of_field("cursor", "cursor must be the nextCursor of another page of the same list")
    place = Place(after=cursor or "")
    found, after = (
        _dead(key, queue, text, place, limit) if state == DEAD else _others(key, queue, state, text, place, limit)
    )
    return {"messages": found, "nextCursor": after or None}


def _others(
    key: Key, queue: Queue, state: str, text: str, place: Place, limit: int
) -> tuple[list[dict[str, Any]], str]:
    if reach.holds_others(key, queue):  # such as dead letters that were received there
        raise Problem("not-reached", f"{queue.name!r} also keeps dead letters of queues that this key does not reach.")
    chosen, masking = parse(text), Masking()
    masking.check(chosen, queue.name)
    page = browse.messages(queue.queue_id, State(state), chosen, place, size=limit, with_payloads=False)
    rows = whole_messages(queue, page.rows, masking)
    return [_document(row, row["state"], row["at"]) | {"death": None} for row in rows], page.after


def _dead(key: Key, queue: Queue, text: str, place: Place, limit: int) -> tuple[list[dict[str, Any]], str]:
    if not queue.is_dead_letter_queue:
        raise Problem.of_field("state", f"state is dead: the dead letters of {queue.name} are in its dead-letter queue")
    chosen = reach.dead_letters_in(key, queue, text)
    page = browse.dead_letters(chosen, place, size=limit, with_payloads=False)
    rows = whole_letters([row.dead_letter_id for row in page.rows], Masking())
    return [_document(row, DEAD, row["died_at"]) | {"death": _death(row)} for row in rows], page.after


def _document(row: Mapping[str, Any], state: str, at: Any) -> dict[str, Any]:
    return {
        "messageId": message_name(row["message_id"]),
        "sequence": row["message_id"],
        "state": state,
        "body": _value(row["payload"]),
        "bodyBytes": row["body_bytes"],
        "bodySha256": row["body_sha256"],
        "attributes": _attributes(row["attributes"]),
        "messageGroupId": row["group_id"],
        "deduplicationKey": row["deduplication_id"],
        "priority": row["priority"],
        "receiveCount": row["receive_count"],
        "sentAt": moment(row["sent_at"]),
        "at": moment(at),
        "deadline": moment(row.get("deadline")),
        "consumer": row["consumer"],
        "traceId": row["trace_id"],
    }


def _death(row: Mapping[str, Any]) -> dict[str, Any]:
    names: Sequence[tuple[str, str]] = (
        ("deadLetterId", "dead_letter_id"),
        ("sourceQueue", "source_queue"),
        ("reason", "reason"),
        ("errorClass", "error_class"),
        ("error", "error"),
        ("details", "details"),
        ("redriveCount", "redrive_count"),
    )
    return {wire: row[column] for wire, column in names}


def _value(text: str | None) -> Any:
    """The value; of JSON that Python cannot read, its text."""
    value = None if text is None else decode(text)
    return value.text if isinstance(value, Unreadable) else value


def _attributes(text: str | None) -> dict[str, Any] | None:
    value = _value(text)
    return {"unreadable": value} if isinstance(value, str) else value
