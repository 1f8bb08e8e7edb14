"""The verbs of streams: appending, reading in groups, committing, moving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from signalbox import arguments
from signalbox.payloads import encode, encode_attributes
from signalbox.statements.statement import Row, Statement, only_value
from signalbox.streams import Moved, Place, Point, StreamMessage
from signalbox.tracing import carried
from signalbox.tracing.context import trace_id_of
from signalbox.unreadable import decode_contents


def create_stream(name: str, settings: Mapping[str, object], tenant: str | None) -> Statement[int]:
    """A stream of this name with these settings; its id. Repeating it with equal settings changes nothing."""
    return Statement(
        """
        select signalbox.create_stream(
          name => %(name)s::text, settings => %(settings)s::jsonb, tenant => %(tenant)s::text
        )
        """,
        {
            "name": arguments.text("name", name),
            "settings": encode(dict(settings), "settings"),
            "tenant": arguments.optional_text("tenant", tenant),
        },
        only_value,
    )


def configure_stream(name: str, settings: Mapping[str, object]) -> Statement[int]:
    """The settings named become these, the others stay; the stream's id."""
    return Statement(
        "select signalbox.configure_stream(name => %(name)s::text, settings => %(settings)s::jsonb)",
        {"name": arguments.text("name", name), "settings": encode(dict(settings), "settings")},
        only_value,
    )


def append(
    stream: str, payload: object, key: str | None, attributes: Mapping[str, object] | None, trace_id: str | None
) -> Statement[Place]:
    """One message more; where it stands."""
    together = carried(attributes, None)
    return Statement(
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
            "stream": arguments.text("stream", stream),
            "payload": encode(payload),
            "attributes": encode_attributes(together),
            "key": arguments.optional_text("key", key),
            "trace_id": arguments.optional_text("trace_id", trace_id) or _trace_id(together),
        },
        lambda rows: Place(*rows[0]),
    )


def append_batch(
    stream: str,
    payloads: Sequence[object],
    keys: Sequence[str | None] | None,
    attributes: Sequence[Mapping[str, object] | None] | None,
) -> Statement[list[Place]]:
    """Many messages more, all or none; where they stand, in the order of the payloads."""
    given = (
        [None] * len(payloads)
        if attributes is None
        else arguments.column("attributes", attributes, len(payloads), _as_is)
    )
    together = [carried(one, None) for one in given]
    return Statement(
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
            "payloads": [encode(payload, f"payloads[{place}]") for place, payload in enumerate(payloads)],
            "attributes": _column_or_none(
                [encode_attributes(one, f"attributes[{n}]") for n, one in enumerate(together)]
            ),
            "keys": None if keys is None else arguments.column("keys", keys, len(payloads), arguments.optional_text),
            "trace_ids": _column_or_none([_trace_id(one) for one in together]),
        },
        lambda rows: [Place(*row) for row in rows],
    )


def create_group(
    stream: str, name: str, point: Point, at: datetime | None, queue: str | None, queue_window: int
) -> Statement[int]:
    """A group that reads from a point on, or feeds a queue; its id."""
    return Statement(
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
            "stream": arguments.text("stream", stream),
            "name": arguments.text("name", name),
            "point": arguments.text("point", point),
            "at": at,
            "queue": arguments.optional_text("queue", queue),
            "queue_window": arguments.count("queue_window", queue_window),
        },
        only_value,
    )


def drop_group(stream: str, group: str) -> Statement[bool]:
    """Forget a group; True when there was one."""
    return Statement(
        "select signalbox.drop_group(stream => %(stream)s::text, group_name => %(group)s::text)",
        _of_group(stream, group),
        only_value,
    )


def join_group(stream: str, group: str, member: str, lease_seconds: float) -> Statement[dict[int, int]]:
    """Be a member; the epoch of each partition that is now this member's."""
    return Statement(
        """
        select partition, epoch
        from signalbox.join_group(
          stream => %(stream)s::text,
          group_name => %(group)s::text,
          member => %(member)s::text,
          lease_seconds => %(lease_seconds)s::double precision
        )
        """,
        {
            **_of_group(stream, group),
            "member": arguments.text("member", member),
            "lease_seconds": arguments.seconds("lease_seconds", lease_seconds),
        },
        dict,
    )


def leave_group(stream: str, group: str, member: str) -> Statement[int]:
    """Give the member's partitions back; how many they were."""
    return Statement(
        """
        select signalbox.leave_group(
          stream => %(stream)s::text, group_name => %(group)s::text, member => %(member)s::text
        )
        """,
        {**_of_group(stream, group), "member": arguments.text("member", member)},
        only_value,
    )


def read_stream(stream: str, group: str, member: str, max_messages: int) -> Statement[list[StreamMessage]]:
    """What the group has not read of this member's partitions."""
    return Statement(
        """
        select partition, position, epoch, key, payload::text, attributes::text, appended_at
        from signalbox.read_stream(
          stream => %(stream)s::text,
          group_name => %(group)s::text,
          member => %(member)s::text,
          max_messages => %(max_messages)s::int
        )
        """,
        {
            **_of_group(stream, group),
            "member": arguments.text("member", member),
            "max_messages": arguments.count("max_messages", max_messages),
        },
        lambda rows: [_message(row) for row in rows],
    )


def commit_offset(stream: str, group: str, member: str, place: tuple[int, int], epoch: int) -> Statement[bool]:
    """Commit a position of a group. False: the partition is no longer the member's, or the position is committed."""
    return Statement(
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
            **_of_group(stream, group),
            "member": arguments.text("member", member),
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
) -> Statement[list[Moved]]:
    """Let the group go on from another point; how far each partition moves, or would."""
    return Statement(
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
            **_of_group(stream, group),
            "point": arguments.text("point", point),
            "at": at,
            "partition": partition,
            "position": position,
            "dry_run": dry_run,
        },
        lambda rows: [Moved(*row) for row in rows],
    )


def _of_group(stream: str, group: str) -> dict[str, Any]:
    return {"stream": arguments.text("stream", stream), "group": arguments.text("group", group)}


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


def _trace_id(attributes: Any) -> str | None:
    return trace_id_of(attributes) if isinstance(attributes, Mapping) else None


def _column_or_none(values: list[Any]) -> list[Any] | None:
    return values if any(value is not None for value in values) else None


def _as_is(_: str, value: Any) -> Any:
    return value
