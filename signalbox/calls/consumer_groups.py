"""Consumer groups of streams: creating, configuring, joining, reading, committing, seeking, listing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from signalbox import arguments
from signalbox.calls import wire_names
from signalbox.calls.call import Call, Function, Row, Wait, only_value, statement
from signalbox.calls.request import Request, Requests, address, array, document, given, number_in, waits
from signalbox.calls.streams import wire_settings
from signalbox.messages import Body, StreamMessage
from signalbox.payloads.binary import decoded
from signalbox.payloads.unreadable import Unreadable, decode_contents

#: The point at which a new group begins, or a moved group goes on.
Point = Literal["beginning", "end", "time", "offset"]


class Moved(NamedTuple):
    """One partition of a seek. A positive number of `messages` is read again, a negative one is skipped."""

    partition: int
    from_position: int
    to_position: int
    messages: int


class GroupChange(NamedTuple):
    """A change of a group. A new filter skips `skipped` of the next `examined` unread messages."""

    changed: bool
    examined: int
    skipped: int


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """A consumer group and how far it has read, computed from positions. `queue` is the queue that a subscription
    feeds.

    `lag_messages` counts the positions up to the end, and `lag_seconds` is the age of the oldest message that is not
    committed. `lost_messages` were dropped by retention before the group read them.
    """

    id: int
    name: str
    queue: str | None
    members: int
    committed: int
    lag_messages: int
    lag_seconds: float
    lost_messages: int
    committed_at: datetime | None


def last_of_each(messages: Iterable[StreamMessage]) -> list[StreamMessage]:
    """The last message of each partition; committing these commits all."""
    last = {message.partition: message for message in sorted(messages, key=lambda message: message.position)}
    return [last[partition] for partition in sorted(last)]


def create_group(
    stream: str, name: str, point: Point, at: datetime | None, queue: str | None, queue_window: int
) -> Call[int]:
    checked = arguments.checked(stream=stream, name=name, point=point, at=at, queue_window=queue_window)
    parameters = checked | {"queue": arguments.optional_text("queue", queue)}
    return Call(_CREATE_GROUP, parameters, only_value, _request_create_group)


_CREATE_GROUP = statement(
    "create_group", "stream text, name text, point text, at timestamptz, queue text, queue_window int"
)


def _request_create_group(group: Mapping[str, Any]) -> Requests[int]:
    members = {wire: given(group[name]) for name, wire in _GROUP_MEMBERS.items()} | {"at": _moment(group["at"])}
    answer = yield Request("POST", address("streams", group["stream"], "groups"), document(members))
    return number_in(answer.document["groupId"])


_GROUP_MEMBERS = {"name": "name", "point": "point", "queue": "queue", "queue_window": "queueWindow"}


def _moment(at: datetime | None) -> str | None:
    """Write a time as JSON text; one without a zone is local."""
    return None if at is None else given(at.astimezone(UTC).isoformat())


def _address(group: Mapping[str, Any], *verb: str) -> str:
    """The address of a consumer group, or of one of its verbs."""
    return address("streams", group["stream"], "groups", group["group"], *verb)


def _request_drop(group: Mapping[str, Any]) -> Requests[bool]:
    answer = yield Request("DELETE", _address(group), instead={"group-not-found": _GONE})
    return answer.document is not _GONE


_GONE = object()


def _request_join(member: Mapping[str, Any]) -> Requests[dict[int, int]]:
    members = {"member": given(member["member"]), "leaseSeconds": given(member["lease_seconds"])}
    answer = yield Request("POST", _address(member, ":join"), document(members))
    return {one["partition"]: one["epoch"] for one in answer.document["partitions"]}


def _request_leave(member: Mapping[str, Any]) -> Requests[int]:
    answer = yield Request("POST", _address(member, ":leave"), document({"member": given(member["member"])}))
    return int(answer.document["partitions"])


def _request_commit(offset: Mapping[str, Any]) -> Requests[bool]:
    place = {name: given(offset[name]) for name in ("partition", "position", "epoch")}
    members = {"member": given(offset["member"]), "offsets": array([document(place)])}
    answer = yield Request("POST", _address(offset, ":commit"), document(members), wire_names.COMMIT, keyed=True)
    return bool(answer.document["results"][0]["status"] == "committed")


def _request_seek(wanted: Mapping[str, Any]) -> Requests[list[Moved]]:
    members = {name: given(wanted[name]) for name in ("point", "partition", "position")}
    members |= {"at": _moment(wanted["at"]), "dryRun": given(wanted["dry_run"])}
    answer = yield Request("POST", _address(wanted, ":seek"), document(members), wire_names.COMMIT)
    return [
        Moved(one["partition"], one["fromPosition"], one["toPosition"], one["messages"])
        for one in answer.document["partitions"]
    ]


drop_group: Function[bool] = Function("drop_group", "stream text, group text", only_value, requests=_request_drop)
join_group: Function[dict[int, int]] = Function(
    "join_group",
    "stream text, group text, member text, lease_seconds double precision",
    dict,
    "partition, epoch",
    _request_join,
)
leave_group: Function[int] = Function(
    "leave_group", "stream text, group text, member text", only_value, requests=_request_leave
)
commit_offset: Function[bool] = Function(
    "commit_offset",
    "stream text, group text, member text, partition int, position bigint, epoch bigint",
    only_value,
    requests=_request_commit,
)
seek: Function[list[Moved]] = Function(
    "seek",
    "stream text, group text, point text, at timestamptz, partition int, position bigint, dry_run boolean",
    lambda rows: [Moved(*row) for row in rows],
    "of_partition, from_position, to_position, messages",
    _request_seek,
)


def _request_filter(group: Mapping[str, Any]) -> Requests[bool]:
    answer = yield Request("PATCH", _address(group), document({"filter": given(group["filter"])}))
    return bool(answer.document["changed"])


set_group_filter: Function[bool] = Function(
    "set_group_filter", "stream text, group text, filter text", only_value, requests=_request_filter
)


def _request_configure(group: Mapping[str, Any]) -> Requests[GroupChange]:
    members = wire_settings(group["settings"]) | {"dryRun": given(group["dry_run"])}
    answer = yield Request("PATCH", _address(group), document(members))
    return GroupChange(*(answer.document[name] for name in GroupChange._fields))


configure_group: Function[GroupChange] = Function(
    "configure_group",
    "stream text, group text, settings jsonb, dry_run boolean",
    lambda rows: GroupChange(*rows[0]),
    "changed, examined, skipped",
    _request_configure,
)


def _request_groups(query: Mapping[str, Any]) -> Requests[list[GroupInfo]]:
    answer = yield Request("GET", address("streams", query["stream"], "groups"))
    return [_group_in(wire) for wire in answer.document["groups"]]


def _group_in(wire: Mapping[str, Any]) -> GroupInfo:
    committed_at = wire["committedAt"]
    return GroupInfo(
        id=number_in(wire["groupId"]),
        name=wire["name"],
        queue=wire["queue"],
        members=wire["members"],
        committed=wire["committed"],
        lag_messages=wire["lagMessages"],
        lag_seconds=wire["lagSeconds"],
        lost_messages=wire["lostMessages"],
        committed_at=None if committed_at is None else datetime.fromisoformat(committed_at).astimezone(UTC),
    )


list_groups: Function[list[GroupInfo]] = Function(
    "list_groups",
    "stream text",
    lambda rows: [GroupInfo(*row) for row in rows],
    "group_id, name, queue, members, committed, lag_messages, lag_seconds, lost, committed_at",
    _request_groups,
)


def _request_read(wanted: Mapping[str, Any], wait_seconds: float) -> Requests[list[StreamMessage]]:
    for seconds in waits(wait_seconds):
        members = {"member": wanted["member"], "maxMessages": wanted["max_messages"], "waitSeconds": seconds}
        content = document({name: given(value) for name, value in members.items()})
        answer = yield Request("POST", _address(wanted, ":read"), content, wait_seconds=seconds)
        if messages := [_message_in(wire) for wire in answer.document["messages"]]:
            return messages
    return []


def _message_in(wire: Mapping[str, Any]) -> StreamMessage:
    unreadable = Unreadable(**wire["unreadable"]) if wire.get("unreadable") else None
    return StreamMessage(
        partition=wire["partition"],
        position=wire["position"],
        epoch=wire["epoch"],
        key=wire["key"],
        payload=unreadable
        if unreadable and unreadable.field == "payload"
        else decoded(wire["body"], wire["attributes"]),
        attributes=wire["attributes"],
        appended_at=datetime.fromisoformat(wire["appendedAt"]).astimezone(UTC),
        unreadable=unreadable,
    )


_read_stream: Function[list[StreamMessage]] = Function(
    "read_stream_with_bodies",
    "stream text, group text, member text, max_messages int",
    lambda rows: [_message(row) for row in rows],
    "partition, position, epoch, key, payload::text, attributes::text, appended_at, body::text",
)


def read_stream(
    stream: str, group: str, member: str, max_messages: int, wait_seconds: float
) -> Call[list[StreamMessage]]:
    wait = Wait(arguments.seconds("wait_seconds", wait_seconds), stream=stream)
    call = _read_stream(stream, group, member, max_messages)
    return replace(call, wait=wait, requests=lambda wanted: _request_read(wanted, wait.seconds))


def _message(row: Row) -> StreamMessage:
    partition, position, epoch, key, payload, attributes, appended_at, body = row
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
        body=Body(**json.loads(body)) if body else None,
    )
