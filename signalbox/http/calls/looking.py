"""Queues, and how many messages they have where, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from signalbox import arguments
from signalbox.http import names
from signalbox.http.call import Answer, Call, address, number_in
from signalbox.queue_info import QueueInfo

#: Queues in one answer.
QUEUES_TOGETHER = 500

_NOT_SETTINGS = frozenset(
    {"queueId", "name", "tenant", "state", "isDeadLetterQueue", "createdAt", "messages", "oldestVisibleAgeSeconds"}
)


class Page(NamedTuple):
    """Some of a list, and where the rest begins; None: there is no more."""

    queues: list[QueueInfo]
    cursor: str | None


def list_queues(prefix: str, cursor: str | None) -> Call[Page]:
    """The queues whose names begin so, by name, from where the cursor says."""
    asked = {"prefix": arguments.text("prefix", prefix), "limit": QUEUES_TOGETHER, "cursor": cursor}
    query = urlencode({name: value for name, value in asked.items() if value not in (None, "")})
    return Call("GET", f"{address('queues')}?{query}", _page)


def describe_queue(name: str) -> Call[QueueInfo]:
    """One queue with its numbers."""
    return Call("GET", address("queues", arguments.text("queue", name)), lambda answer: _queue(answer.document))


def _page(answer: Answer) -> Page:
    return Page([_queue(one) for one in answer.document["queues"]], answer.document["nextCursor"])


def _queue(wire: Mapping[str, Any]) -> QueueInfo:
    return QueueInfo(
        id=number_in(wire["queueId"]),
        name=wire["name"],
        tenant=wire["tenant"],
        state=wire["state"],
        is_dead_letter_queue=wire["isDeadLetterQueue"],
        settings=names.settings_back({name: wire[name] for name in wire.keys() - _NOT_SETTINGS}),
        messages=wire.get("messages"),
        oldest_visible_seconds=wire.get("oldestVisibleAgeSeconds"),
    )
