"""The last successful message that is like a dead letter, for a comparison of the two.

It is one of the newest messages that were acknowledged in the queue where the message died: of the same FIFO group if
there is one, otherwise with the same kind in its attributes, otherwise the newest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from queues.database.query import Query, query_text
from queues.database.time_limits import LIST_MILLISECONDS, OutOfTime, time_limit
from queues.models import DeadLetter
from signalbox.payloads.unreadable import decode

ACKS_EXAMINED = 50  # each of up to some hundred messages
MESSAGES_EXAMINED = 200
KIND_ATTRIBUTES = ("kind", "type", "event")

NEWEST_SUCCESSES = query_text("messages/newest_success")


@dataclass(frozen=True)
class Success:
    """An acknowledged message. Its body is in the log if `kept`, and in a body store if `large`."""

    message_id: int
    settled_at: datetime
    consumer: str | None
    kept: bool
    large: bool
    payload: Any
    attributes: dict[str, Any] | None
    group_id: str | None
    sent_at: datetime | None


def last_success(letter: DeadLetter) -> Success | None:
    """Find the success that is most like a dead letter; None when there is none, or the search takes too long."""
    attributes = json.dumps(letter.attributes if isinstance(letter.attributes, dict) else {})
    parameters: list[Any] = [letter.source_id, ACKS_EXAMINED, MESSAGES_EXAMINED, letter.source_id]
    parameters += [letter.group_id, list(KIND_ATTRIBUTES), attributes]
    try:
        with time_limit(10 * LIST_MILLISECONDS):
            rows = Query(NEWEST_SUCCESSES, parameters).rows()
    except OutOfTime:
        return None
    if not rows:
        return None
    *known, payload, attributes, group_id, sent_at = rows[0]
    # Django's connection returns documents as text.
    documents = (decode(text) if isinstance(text, str) else text for text in (payload, attributes))
    return Success(*[*known, *documents, group_id, sent_at])
