"""Conversion of appended and read messages between the API's names and the engine's."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from console.api.core import database
from console.api.core.responses import moment
from console.api.messages.sending import in_its_place, with_content_type
from console.api.streams.shapes import NewStreamMessage
from signalbox import AsyncClient, BodyCorrupt, BodyMissing, InvalidArgument, Place, StreamMessage, Unreadable
from signalbox.payloads.binary import json_value

logger = logging.getLogger(__name__)


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


async def documents(messages: Sequence[StreamMessage]) -> list[dict[str, Any]]:
    """Return the documents of messages, as many as fit into one answer: the next read returns the rest."""
    return [_document(one, await _payload(one)) for one in fitting(messages, settings.BODIES_MAX_BYTES)]


def fitting(messages: Sequence[StreamMessage], max_bytes: int) -> Sequence[StreamMessage]:
    """Select messages up to the first whose large body no longer fits; the first message always does."""
    sums = itertools.accumulate(one.body.bytes if one.body else 0 for one in messages)
    count = sum(1 for _ in itertools.takewhile(lambda bytes_so_far: bytes_so_far <= max_bytes, sums))
    return messages[: max(count, 1)]


async def _payload(message: StreamMessage) -> Any:
    """Read the payload; a large body that cannot be read is unreadable, and keeps no other message back."""
    try:
        return await database.client().fetch(message)
    except (BodyMissing, BodyCorrupt, OSError) as error:
        logger.warning("the payload of message %s/%s cannot be read: %s", message.partition, message.position, error)
        return Unreadable("payload", "", str(error))


def _document(read: StreamMessage, payload: Any) -> dict[str, Any]:
    """Return the document of a message. A payload that Python cannot read is null, as in a delivery of a queue."""
    problem = payload if isinstance(payload, Unreadable) else read.unreadable
    unreadable = {"unreadable": problem.to_json()} if problem else {}
    return {
        "partition": read.partition,
        "position": read.position,
        "epoch": read.epoch,
        "key": read.key,
        "body": None if isinstance(payload, Unreadable) else json_value(payload),
        "contentType": read.content_type,
        "attributes": read.attributes,
        "traceId": read.trace_id,
        "appendedAt": moment(read.appended_at),
        **unreadable,
    }


def nothing_to_undo(_: object) -> None:
    """Undo nothing: a read moves no offset."""
