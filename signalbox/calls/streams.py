"""Streams: creating, appending, reading in consumer groups, committing, rewinding. They need a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from signalbox import arguments
from signalbox.calls.call import Call, Row, Wait, each_or_none, only_value
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
    """One partition of a rewind; `messages` positions are read again, or skipped where the number is below zero."""

    partition: int
    from_position: int
    to_position: int
    messages: int


def last_of_each(messages: Iterable[StreamMessage]) -> list[StreamMessage]:
    """The last message of each partition; committing these commits all."""
    last: dict[int, StreamMessage] = {}
    for message in messages:
        known = last.get(message.partition)
        if known is None or message.position > known.position:
            last[message.partition] = message
    return [last[partition] for partition in sorted(last)]


def create_stream(name: str, settings: Mapping[str, object], tenant: str | None) -> Call[int]:
    return Call(
        """
        select signalbox.create_stream(
          name => %(name)s::text, settings => %(settings)s::jsonb, tenant => %(tenant)s::text
        )
        """,
        {**arguments.checked(name=name, tenant=tenant), "settings": encode(dict(settings), "settings")},
        only_value,
    )


def configure_stream(name: str, settings: Mapping[str, object]) -> Call[int]:
    return Call(
        "select signalbox.configure_stream(name => %(name)s::text, settings => %(settings)s::jsonb)",
        {**arguments.checked(name=name), "settings": encode(dict(settings), "settings")},
        only_value,
    )


def append(
    stream: str, payload: object, key: str | None, attributes: Mapping[str, object] | None, trace_id: str | None
) -> Call[Place]:
    marked = carried(attributes, None)
    return Call(
        """
        select partition, position
        from signalbox.append(
          stream => %(stream)s::text,
          payload => %(payload)s::jsonb,
          attributes => %(attributes)s::jsonb,
          key => %(key)s::text,
          trace_id => %(trace_id)s::text
        )
        """,
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
    marked = [carried(one, None) for one in arguments.column("attributes", own, len(payloads))]
    return Call(
        """
        select partition, position
        from signalbox.append_batch(
          stream => %(stream)s::text,
          payloads => %(payloads)s::jsonb[],
          attributes => %(attributes)s::jsonb[],
          keys => %(keys)s::text[],
          trace_ids => %(trace_ids)s::text[]
        )
        """,
        {
            "stream": arguments.text("stream", stream),
            "payloads": [encode(payload, f"payloads[{index}]") for index, payload in enumerate(payloads)],
            "attributes": each_or_none(
                encode_attributes(one, f"attributes[{index}]") for index, one in enumerate(marked)
            ),
            "keys": None if keys is None else arguments.column("keys", keys, len(payloads), arguments.optional_text),
            "trace_ids": each_or_none(trace_id_of(one) for one in marked),
        },
        lambda rows: [Place(*row) for row in rows],
    )


def create_group(
    stream: str, name: str, point: Point, at: datetime | None, queue: str | None, queue_window: int
) -> Call[int]:
    return Call(
        """
        select signalbox.create_group(
          stream => %(stream)s::text,
          name => %(name)s::text,
          point => %(point)s::text,
          at => %(at)s::timestamptz,
          queue => %(queue)s::text,
          queue_window => %(queue_window)s::int
        )
        """,
        {
            **arguments.checked(stream=stream, name=name, point=point, queue_window=queue_window),
            "at": at,
            "queue": arguments.optional_text("queue", queue),
        },
        only_value,
    )


def drop_group(stream: str, group: str) -> Call[bool]:
    return Call(
        "select signalbox.drop_group(stream => %(stream)s::text, group_name => %(group)s::text)",
        arguments.checked(stream=stream, group=group),
        only_value,
    )


def join_group(stream: str, group: str, member: str, lease_seconds: float) -> Call[dict[int, int]]:
    return Call(
        """
        select partition, epoch
        from signalbox.join_group(
          stream => %(stream)s::text,
          group_name => %(group)s::text,
          member => %(member)s::text,
          lease_seconds => %(lease_seconds)s::double precision
        )
        """,
        arguments.checked(stream=stream, group=group, member=member, lease_seconds=lease_seconds),
        dict,
    )


def leave_group(stream: str, group: str, member: str) -> Call[int]:
    return Call(
        """
        select signalbox.leave_group(
          stream => %(stream)s::text, group_name => %(group)s::text, member => %(member)s::text
        )
        """,
        arguments.checked(stream=stream, group=group, member=member),
        only_value,
    )


def read_stream(
    stream: str, group: str, member: str, max_messages: int, wait_seconds: float
) -> Call[list[StreamMessage]]:
    return Call(
        """
        select partition, position, epoch, key, payload::text, attributes::text, appended_at
        from signalbox.read_stream(
          stream => %(stream)s::text,
          group_name => %(group)s::text,
          member => %(member)s::text,
          max_messages => %(max_messages)s::int
        )
        """,
        arguments.checked(stream=stream, group=group, member=member, max_messages=max_messages),
        lambda rows: [_message(row) for row in rows],
        wait=Wait(arguments.seconds("wait_seconds", wait_seconds), stream=stream),
    )


def commit_offset(stream: str, group: str, member: str, place: tuple[int, int], epoch: int) -> Call[bool]:
    return Call(
        """
        select signalbox.commit_offset(
          stream => %(stream)s::text,
          group_name => %(group)s::text,
          member => %(member)s::text,
          partition => %(partition)s::int,
          through_position => %(position)s::bigint,
          epoch => %(epoch)s::bigint
        )
        """,
        {
            **arguments.checked(stream=stream, group=group, member=member),
            "partition": place[0],
            "position": place[1],
            "epoch": epoch,
        },
        only_value,
    )


def rewind(
    stream: str,
    group: str,
    point: Point,
    at: datetime | None,
    partition: int | None,
    position: int | None,
    *,
    dry_run: bool,
) -> Call[list[Moved]]:
    return Call(
        """
        select of_partition, from_position, to_position, messages
        from signalbox.rewind(
          stream => %(stream)s::text,
          group_name => %(group)s::text,
          point => %(point)s::text,
          at => %(at)s::timestamptz,
          partition => %(partition)s::int,
          through_position => %(position)s::bigint,
          dry_run => %(dry_run)s::boolean
        )
        """,
        {
            **arguments.checked(stream=stream, group=group, point=point),
            "at": at,
            "partition": partition,
            "position": position,
            "dry_run": dry_run,
        },
        lambda rows: [Moved(*row) for row in rows],
    )


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
