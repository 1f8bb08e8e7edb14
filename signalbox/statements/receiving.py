"""receive, also with acknowledgements, and its rows as messages; the places of long polls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC

from signalbox import arguments
from signalbox.durations import RECEIVE
from signalbox.messages import AckedAndReceived, Body, Message
from signalbox.statements.statement import Row, Statement, T, handles_of, only_value
from signalbox.unreadable import decode_contents


def receive(
    queue: str, max_messages: int, visibility_timeout: float | None, consumer: str | None, *, durable: bool
) -> Statement[list[Message]]:
    """Up to `max_messages` messages, leased to the caller."""
    return _receive(queue, max_messages, visibility_timeout, consumer, durable, None, _messages)


def ack_and_receive(
    receipts: Iterable[Message | str],
    queue: str,
    max_messages: int,
    visibility_timeout: float | None,
    consumer: str | None,
) -> Statement[AckedAndReceived]:
    """What `ack` says of these handles, and up to `max_messages` further messages."""
    handles = handles_of(receipts)

    def read(rows: list[Row]) -> AckedAndReceived:
        refused = {row[1] for row in rows if row[0] is None}
        return AckedAndReceived({handle: handle not in refused for handle in handles}, _messages(rows))

    return _receive(queue, max_messages, visibility_timeout, consumer, True, handles, read)


def _receive(
    queue: str,
    max_messages: int,
    visibility_timeout: float | None,
    consumer: str | None,
    durable: bool,
    acknowledge: list[str] | None,
    read: Callable[[list[Row]], T],
) -> Statement[T]:
    return Statement(
        """
        select
          message_id,
          receipt_handle,
          receive_count,
          payload::text,
          attributes::text,
          group_id,
          priority,
          sent_at,
          deadline,
          state::text,
          body::text,
          extract(epoch from deadline - clock_timestamp())::double precision
        from signalbox.receive(
          queue => %(queue)s::text,
          max_messages => %(max_messages)s::int,
          visibility_timeout => %(visibility_timeout)s::double precision,
          consumer => %(consumer)s::text,
          durable => %(durable)s::boolean,
          acknowledge => %(acknowledge)s::text[]
        )
        """,
        {
            "queue": arguments.text("queue", queue),
            "max_messages": arguments.count("max_messages", max_messages),
            "visibility_timeout": arguments.optional_seconds("visibility_timeout", visibility_timeout),
            "consumer": arguments.optional_text("consumer", consumer),
            "durable": durable,
            "acknowledge": acknowledge,
        },
        read,
        RECEIVE,
    )


def _messages(rows: list[Row]) -> list[Message]:
    """The deliveries; a row without a message names a handle that was no longer held."""
    return [_message(row) for row in rows if row[0] is not None]


def _message(row: Row) -> Message:
    message_id, handle, receive_count, payload, attributes, group_id, priority, sent_at, deadline, state, body, left = (
        row
    )
    contents = decode_contents(payload, attributes, state)
    return Message(
        id=message_id,
        receipt_handle=handle,
        receive_count=receive_count,
        payload=contents.payload,
        attributes=contents.attributes,
        group_id=group_id,
        priority=priority,
        sent_at=sent_at.astimezone(UTC),
        deadline=deadline.astimezone(UTC),
        lease_seconds=left,
        state=contents.state,
        body=Body(**json.loads(body)) if body else None,
        unreadable=contents.unreadable,
    )


def begin_long_poll(queue: str) -> Statement[int | None]:
    """A place among the long polls of the queue's tenant; None where it has no limit."""
    return Statement(
        "select signalbox.begin_long_poll(queue => %(queue)s::text)",
        {"queue": arguments.text("queue", queue)},
        only_value,
    )


def end_long_poll(queue: str, place: int) -> Statement[bool]:
    """Give the place back; False when this connection did not have it."""
    return Statement(
        "select signalbox.end_long_poll(queue => %(queue)s::text, place => %(place)s::int)",
        {"queue": queue, "place": place},
        only_value,
    )
