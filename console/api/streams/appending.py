"""Conversion of appended and read messages between the API's names and the engine's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.api.core.responses import moment
from console.api.messages.sending import in_its_place, with_content_type
from console.api.streams.shapes import NewStreamMessage
from signalbox import AsyncClient, InvalidArgument, Place, StreamMessage, Unreadable
from signalbox.payloads.binary import json_value


def options(message: NewStreamMessage) -> dict[str, Any]:
    """Return the options of a message, without its payload."""
    attributes = with_content_type(message.attributes, message.content_type)
    return {
        "key": message.key,
        "attributes": attributes,
        "trace_id": message.trace_id,
        "deduplication_id": message.deduplication_key,
    }


async def append_all(client: AsyncClient, stream: str, messages: Sequence[NewStreamMessage]) -> list[dict[str, int]]:
    """Append all messages in one statement; return their places in order."""
    try:
        places = await client.append_batch(
            stream,
            [one.body for one in messages],
            keys=[one.key for one in messages],
            attributes=[with_content_type(one.attributes, one.content_type) for one in messages],
            trace_ids=[one.trace_id for one in messages],
            deduplication_ids=[one.deduplication_key for one in messages],
        )
    except InvalidArgument as error:
        raise in_its_place(error) from error
    return [place(one) for one in places]


def place(of: Place) -> dict[str, int]:
    """Return the document of a place."""
    return {"partition": of.partition, "position": of.position}


def message(read: StreamMessage) -> dict[str, Any]:
    """Return the document of a message. A payload that Python cannot read is null, as in a delivery of a queue."""
    unreadable = {"unreadable": read.unreadable.to_json()} if read.unreadable else {}
    return {
        "partition": read.partition,
        "position": read.position,
        "epoch": read.epoch,
        "key": read.key,
        "body": None if isinstance(read.payload, Unreadable) else json_value(read.payload),
        "contentType": read.content_type,
        "attributes": read.attributes,
        "traceId": read.trace_id,
        "appendedAt": moment(read.appended_at),
        **unreadable,
    }


def nothing_to_undo(_: object) -> None:
    """Undo nothing: a read moves no offset."""
