"""Streams: creating, appending, reading in consumer groups, committing, rewinding. They need a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from signalbox import arguments
from signalbox.calls.call import Call, Function, Row, Wait, each_or_none, only_value, statement
from signalbox.payloads import encode, encode_attributes
from signalbox.tracing.attributes import Marked, trace_id_of
from signalbox.tracing.context import carried
from signalbox.unreadable import Unreadable, decode_contents

#: The point at which a new group begins, or a rewound group goes on.
Point = Literal["beginning", "end", "time", "offset"]


class Place(NamedTuple):
    """The place of a message in its stream; positions count within a partition, from 1."""

    partition: int
    position: int


@dataclass(frozen=True, slots=True)
class StreamMessage(Marked):
    """A message read from a stream. `epoch` is that of the group's partition, which committing needs.

    `unreadable` names the JSON of the message that Python cannot read. It takes the place of an unreadable payload;
    unreadable attributes are empty. A commit includes such a message like any other.
    """

    partition: int
    position: int
    epoch: int
    key: str | None
    payload: Any
    attributes: Mapping[str, Any]
    appended_at: datetime
    unreadable: Unreadable | None = None


class Moved(NamedTuple):
    """One partition of a rewind. A positive number of `messages` is read again, a negative one is skipped."""

    partition: int
    from_position: int
    to_position: int
    messages: int


def last_of_each(messages: Iterable[StreamMessage]) -> list[StreamMessage]:
    """The last message of each partition; committing these commits all."""
    last = {message.partition: message for message in sorted(messages, key=lambda message: message.position)}
    return [last[partition] for partition in sorted(last)]


create_stream: Function[int] = Function("create_stream", "name text, settings jsonb, tenant text", only_value)
configure_stream: Function[int] = Function("configure_stream", "name text, settings jsonb", only_value)

_APPEND = statement(
    "append", "stream text, payload jsonb, attributes jsonb, key text, trace_id text", "partition, position"
)
_APPEND_BATCH = statement(
    "append_batch",
    "stream text, payloads jsonb[], attributes jsonb[], keys text[], trace_ids text[]",
    "partition, position",
)


def append(
    stream: str, payload: object, key: str | None, attributes: Mapping[str, object] | None, trace_id: str | None
) -> Call[Place]:
    marked = carried(attributes, None)
    return Call(
        _APPEND,
        {
            **arguments.checked(stream=stream, key=key),
            "payload": encode(payload),
            "attributes": encode_attributes(marked),
            "trace_id": arguments.optional_text("trace_id", trace_id) or trace_id_of(marked),
        },
        lambda rows: Place(*rows[0]),
    )


def append_batch(
    stream: str,
    payloads: Sequence[object],
    keys: Sequence[str | None] | None,
    attributes: Sequence[Mapping[str, object] | None] | None,
) -> Call[list[Place]]:
    own = [None] * len(payloads) if attributes is None else attributes
    column = arguments.column("attributes", own, len(payloads), arguments.unchecked)
    marked = [carried(attribute, None) for attribute in column]
    return Call(
        _APPEND_BATCH,
        {
            "stream": arguments.text("stream", stream),
            "payloads": [encode(payload, f"payloads[{index}]") for index, payload in enumerate(payloads)],
            "attributes": each_or_none(
                encode_attributes(attribute, f"attributes[{index}]") for index, attribute in enumerate(marked)
            ),
            "keys": None if keys is None else arguments.column("keys", keys, len(payloads), arguments.optional_text),
            "trace_ids": each_or_none(trace_id_of(attribute) for attribute in marked),
        },
        lambda rows: [Place(*row) for row in rows],
    )


_CREATE_GROUP = statement(
    "create_group", "stream text, name text, point text, at timestamptz, queue text, queue_window int"
)


def create_group(
    stream: str, name: str, point: Point, at: datetime | None, queue: str | None, queue_window: int
) -> Call[int]:
    checked = arguments.checked(stream=stream, name=name, point=point, at=at, queue_window=queue_window)
    return Call(_CREATE_GROUP, checked | {"queue": arguments.optional_text("queue", queue)}, only_value)


drop_group: Function[bool] = Function("drop_group", "stream text, group text", only_value)
join_group: Function[dict[int, int]] = Function(
    "join_group", "stream text, group text, member text, lease_seconds double precision", dict, "partition, epoch"
)
leave_group: Function[int] = Function("leave_group", "stream text, group text, member text", only_value)
commit_offset: Function[bool] = Function(
    "commit_offset", "stream text, group text, member text, partition int, position bigint, epoch bigint", only_value
)
rewind: Function[list[Moved]] = Function(
    "rewind",
    "stream text, group text, point text, at timestamptz, partition int, position bigint, dry_run boolean",
    lambda rows: [Moved(*row) for row in rows],
    "of_partition, from_position, to_position, messages",
)
_read_stream: Function[list[StreamMessage]] = Function(
    "read_stream",
    "stream text, group text, member text, max_messages int",
    lambda rows: [_message(row) for row in rows],
    "partition, position, epoch, key, payload::text, attributes::text, appended_at",
)


def read_stream(
    stream: str, group: str, member: str, max_messages: int, wait_seconds: float
) -> Call[list[StreamMessage]]:
    wait = Wait(arguments.seconds("wait_seconds", wait_seconds), stream=stream)
    return replace(_read_stream(stream, group, member, max_messages), wait=wait)


def _message(row: Row) -> StreamMessage:
    partition, position, epoch, key, payload, attributes, appended_at = row
    contents = decode_contents(payload, attributes)
    return StreamMessage(
        partition=partition,
        position=position,
        epoch=epoch,
        key=key,
        payload=contents.payload,
        attributes=contents.attributes,
        appended_at=appended_at.astimezone(UTC),
        unreadable=contents.unreadable,
    )
