"""Streams: creating, configuring, listing, appending."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from signalbox import arguments
from signalbox.calls import wire_names
from signalbox.calls.call import Call, Function, each_or_none, only_value, statement
from signalbox.calls.request import Request, Requests, address, array, document, every_page, given, number_in
from signalbox.payloads.encoding import encode_attributes, encode_payload, encode_payloads
from signalbox.tracing.attributes import trace_id_of
from signalbox.tracing.context import carried

#: The most streams in one answer of a server.
STREAMS_TOGETHER = 500


class Place(NamedTuple):
    """The place of a message in its stream; positions count within a partition, from 1."""

    partition: int
    position: int


class PartitionPreview(NamedTuple):
    """The effect of more partitions on a stream that has `present` of them.

    All `groups` would read the new ones, and `moved_keys` is the share of keys whose new messages would go to another
    partition. `unread` counts the messages that the groups have not read yet.
    """

    present: int
    groups: int
    moved_keys: float
    unread: int


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """A stream with its settings."""

    id: int
    name: str
    tenant: str
    settings: Mapping[str, Any]


def _request_create(stream: Mapping[str, Any]) -> Requests[int]:
    members = {"name": given(stream["name"]), "tenant": given(stream["tenant"])} | wire_settings(stream["settings"])
    answer = yield Request("POST", address("streams"), document(members))
    return number_in(answer.document["streamId"])


def _request_configure(stream: Mapping[str, Any]) -> Requests[int]:
    settings = document(wire_settings(stream["settings"]))
    answer = yield Request("PATCH", address("streams", stream["name"]), settings)
    return number_in(answer.document["streamId"])


def wire_settings(text: str) -> dict[str, str | None]:
    """Return settings in JSON text as members of a request."""
    return {wire_names.camel(name): json.dumps(value) for name, value in json.loads(text).items()}


create_stream: Function[int] = Function(
    "create_stream", "name text, settings jsonb, tenant text", only_value, requests=_request_create
)
configure_stream: Function[int] = Function(
    "configure_stream", "name text, settings jsonb", only_value, requests=_request_configure
)


def _request_rename(stream: Mapping[str, Any]) -> Requests[int]:
    members = document({"newName": given(stream["new_name"])})
    answer = yield Request("POST", address("streams", stream["name"], ":rename"), members)
    return number_in(answer.document["streamId"])


def _request_delete(stream: Mapping[str, Any]) -> Requests[None]:
    yield Request("DELETE", address("streams", stream["name"]))


rename_stream: Function[int] = Function("rename_stream", "name text, new_name text", only_value, "", _request_rename)
delete_stream: Function[None] = Function("delete_stream", "name text", lambda _: None, "", _request_delete)


def _request_preview(wanted: Mapping[str, Any]) -> Requests[PartitionPreview]:
    members = document({"partitions": given(wanted["partitions"])})
    answer = yield Request("POST", address("streams", wanted["stream"], ":preview-partitions"), members)
    return PartitionPreview(*(answer.document[wire_names.camel(name)] for name in PartitionPreview._fields))


preview_partitions: Function[PartitionPreview] = Function(
    "preview_partitions",
    "stream text, partitions integer",
    lambda rows: PartitionPreview(*rows[0]),
    ", ".join(PartitionPreview._fields),
    _request_preview,
)

_SETTINGS = (
    "partitions",
    "retention_seconds",
    "retention_bytes",
    "retention_messages",
    "compaction",
    "dedup_window_seconds",
    "max_payload_bytes",
    "closed",
    "alert_group_lag_seconds",
)


def list_streams(prefix: str) -> Call[list[StreamInfo]]:
    return Call(
        """
        select s.stream_id, s.name, t.name, s.partitions, s.retention_seconds, s.retention_bytes, s.retention_messages,
          s.compaction, s.dedup_window_seconds, s.max_payload_bytes, s.closed, s.alert_group_lag_seconds
        from signalbox.stream s
        join signalbox.tenant t using (tenant_id)
        where starts_with(s.name, %(prefix)s::text)
        order by s.name
        """,
        arguments.checked(prefix=prefix),
        lambda rows: [_stream(*row) for row in rows],
        _request_list,
    )


def _stream(stream_id: int, name: str, tenant: str, *settings: Any) -> StreamInfo:
    return StreamInfo(stream_id, name, tenant, dict(zip(_SETTINGS, settings, strict=True)))


def _request_list(query: Mapping[str, Any]) -> Requests[list[StreamInfo]]:
    members = {"prefix": query["prefix"], "limit": STREAMS_TOGETHER}
    return [_stream_in(wire) for wire in (yield from every_page(address("streams"), members, "streams"))]


def _stream_in(wire: Mapping[str, Any]) -> StreamInfo:
    settings = {name: wire[wire_names.camel(name)] for name in _SETTINGS}
    return StreamInfo(number_in(wire["streamId"]), wire["name"], wire["tenant"], settings)


_APPEND = statement(
    "append", "stream text, payload jsonb, attributes jsonb, key text, trace_id text", "partition, position"
)
_APPEND_BATCH = statement(
    "append_batch",
    "stream text, payloads jsonb[], attributes jsonb[], keys text[], trace_ids text[]",
    "partition, position",
)
_DEDUPLICATED = statement(
    "append_deduplicated",
    "stream text, payload jsonb, deduplication_id text, attributes jsonb, key text, trace_id text",
    "partition, position",
)
_BATCH_DEDUPLICATED = statement(
    "append_batch_deduplicated",
    "stream text, payloads jsonb[], deduplication_ids text[], attributes jsonb[], keys text[], trace_ids text[]",
    "partition, position",
)


def append(
    stream: str,
    payload: object,
    key: str | None,
    attributes: Mapping[str, object] | None,
    trace_id: str | None,
    content_type: str | None = None,
    deduplication_id: str | None = None,
) -> Call[Place]:
    text, own = encode_payload(payload, attributes, arguments.optional_text("content_type", content_type))
    marked = carried(own, None)
    return Call(
        _APPEND if deduplication_id is None else _DEDUPLICATED,
        {
            **arguments.checked(stream=stream, key=key, deduplication_id=deduplication_id),
            "payload": text,
            "attributes": encode_attributes(marked),
            "trace_id": arguments.optional_text("trace_id", trace_id) or trace_id_of(marked),
        },
        lambda rows: Place(*rows[0]),
        _request_append,
    )


def _request_append(message: Mapping[str, Any]) -> Requests[Place]:
    path = address("streams", message["stream"], "messages")
    answer = yield Request("POST", path, document(_message_members(message)), wire_names.SEND, keyed=True)
    return _place_in(answer.document)


def _message_members(message: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        "body": message["payload"],
        "key": given(message["key"]),
        "attributes": message["attributes"],
        "traceId": given(message["trace_id"]),
        "deduplicationKey": given(message["deduplication_id"]),
    }


def _place_in(wire: Mapping[str, Any]) -> Place:
    return Place(wire["partition"], wire["position"])


def append_batch(
    stream: str,
    payloads: Sequence[object],
    keys: Sequence[str | None] | None,
    attributes: Sequence[Mapping[str, object] | None] | None,
    trace_ids: Sequence[str | None] | None,
    content_types: Sequence[str | None] | None = None,
    deduplication_ids: Sequence[str | None] | None = None,
) -> Call[list[Place]]:
    none = [None] * len(payloads)
    column = arguments.column(
        "attributes", none if attributes is None else attributes, len(payloads), arguments.unchecked
    )
    types = arguments.column("content_types", content_types or none, len(payloads), arguments.optional_text)
    texts, own = encode_payloads(payloads, column, types)
    marked = [carried(attribute, None) for attribute in own or none]
    traces = arguments.column("trace_ids", trace_ids or [None] * len(marked), len(payloads), arguments.optional_text)
    ids = arguments.column("deduplication_ids", deduplication_ids or none, len(payloads), arguments.optional_text)
    return Call(
        _APPEND_BATCH if each_or_none(ids) is None else _BATCH_DEDUPLICATED,
        {
            "stream": arguments.text("stream", stream),
            "payloads": texts,
            "attributes": each_or_none(
                encode_attributes(attribute, f"attributes[{index}]") for index, attribute in enumerate(marked)
            ),
            "keys": None if keys is None else arguments.column("keys", keys, len(payloads), arguments.optional_text),
            "deduplication_ids": each_or_none(ids),
            "trace_ids": each_or_none(trace or trace_id_of(one) for trace, one in zip(traces, marked, strict=True)),
        },
        lambda rows: [Place(*row) for row in rows],
        _request_append_batch,
    )


_COLUMNS = {
    "key": "keys",
    "attributes": "attributes",
    "trace_id": "trace_ids",
    "deduplication_id": "deduplication_ids",
}


def _request_append_batch(batch: Mapping[str, Any]) -> Requests[list[Place]]:
    if not batch["payloads"]:
        return []
    nothing = [None] * len(batch["payloads"])
    columns = (batch["payloads"], *(batch[name] or nothing for name in _COLUMNS.values()))
    messages = [
        document(_message_members(dict(zip(("payload", *_COLUMNS), values, strict=True))))
        for values in zip(*columns, strict=True)
    ]
    path, members = address("streams", batch["stream"], "messages", ":batch"), {"messages": array(messages)}
    answer = yield Request("POST", path, document(members), wire_names.APPEND_BATCH, keyed=True)
    return [_place_in(wire) for wire in answer.document["places"]]
