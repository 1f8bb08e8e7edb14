"""A batch that is sent whole or not at all: what is wrong with one message is a problem of the whole request."""

from __future__ import annotations

import re
from typing import Any

from console.api.problems import Problem, problem_of
from console.api.sending import options, read_message, sent
from console.api.wire.messages import NewBatchMessage
from console.api.wire.names import wire_field
from signalbox import AsyncClient, InvalidArgument
from signalbox.statements import BatchOptions

_OF_ONE = re.compile(r"([a-z_]+)\[(\d+)\](.*)", re.DOTALL)


async def send_all(client: AsyncClient, queue: str, given: list[Any]) -> list[dict[str, Any]]:
    """Send them in one statement; a result for each, in their order. Raises the problem of the first that is wrong."""
    messages = [_message(place, one) for place, one in enumerate(given)]
    try:
        ids = await client.send_batch(queue, [one.body for one in messages], **_columns(messages))
    except InvalidArgument as error:
        raise _in_its_place(error) from error
    return [
        {"clientMessageId": message.client_message_id, "status": "accepted", **sent(message_id)}
        for message, message_id in zip(messages, ids, strict=True)
    ]


def _message(place: int, given: Any) -> NewBatchMessage:
    message = read_message(place, given)
    if isinstance(message, Problem):
        raise message
    return message


def _columns(messages: list[NewBatchMessage]) -> BatchOptions:
    said = [options(one) for one in messages]
    return {
        "attributes": [one["attributes"] for one in said],
        "priorities": [one["priority"] for one in said],
        "delay_seconds": [one["delay_seconds"] for one in said],
        "group_ids": [one["group_id"] for one in said],
        "deduplication_ids": [one["deduplication_id"] for one in said],
        "trace_ids": [one["trace_id"] for one in said],
        "correlation_ids": [one["correlation_id"] for one in said],
    }


def _in_its_place(error: InvalidArgument) -> Problem:
    """The engine speaks of an entry of a column, the request of a field of a message."""
    if not (found := _OF_ONE.fullmatch(error.field or "")):
        return problem_of(error)
    field = f"messages[{found[2]}].{wire_field(found[1])}"
    return Problem.of_field(field, field + str(error).removeprefix(error.field or ""))
