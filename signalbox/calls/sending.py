"""Sending messages: send, send_batch, send_each, and the claim of a large body."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple, ParamSpec, TypedDict, cast

from signalbox import arguments
from signalbox.calls import wire_names
from signalbox.calls.call import Call, Function, Row, T, each_or_none, only_value, only_values, statement
from signalbox.calls.problems import error_of, raise_first_refusal
from signalbox.calls.request import Request, Requests, address, array, document, given
from signalbox.durations import PUBLISH
from signalbox.errors import InvalidArgument, SignalboxError, refusal_of
from signalbox.payloads.encoding import encode_attributes, encode_payload, encode_payloads
from signalbox.tracing.attributes import MAX_CHARACTERS, is_printable, trace_id_of
from signalbox.tracing.context import carried

P = ParamSpec("P")

#: The error for a message that was not sent, as `send` would have raised it.
Refused = SignalboxError


class SendOptions(TypedDict, total=False):
    """The options of one message, besides its payload."""

    attributes: Mapping[str, object] | None  # small facts about the payload, as a JSON object
    content_type: str | None  # of a payload of bytes; None: application/octet-stream
    priority: int  # 0 (the default) to 32,767; the highest is delivered first
    delay_seconds: float | None  # None: the queue's own delay
    group_id: str | None
    deduplication_id: str | None  # a second send within the queue's window returns the first id
    trace_id: str | None  # None: the id of the current span, if there is one
    correlation_id: str | None  # kept among the attributes; None: the id of the message being handled
    expires_at: datetime | None  # never delivered after it; with a time zone
    max_receives: int | None  # deliveries before it is a dead letter; None: the queue's setting


class Sent(NamedTuple):
    """The id of a sent message, and how many messages wait in its message group; None where the group has no order."""

    id: int
    group_waiting: int | None


class BatchOptions(TypedDict, total=False):
    """The options of a batch of messages: one entry for each payload, in the same order."""

    attributes: Sequence[Mapping[str, object] | None] | None
    content_types: Sequence[str | None] | None
    priorities: Sequence[int] | None
    delay_seconds: Sequence[float | None] | None
    group_ids: Sequence[str | None] | None
    deduplication_ids: Sequence[str | None] | None
    trace_ids: Sequence[str | None] | None
    correlation_ids: Sequence[str | None] | None
    expires_ats: Sequence[datetime | None] | None
    max_receives: Sequence[int | None] | None


#: The SQL parameter of a batch for each SQL parameter of one message.
_COLUMNS = {
    "payload": "payloads",
    "attributes": "attributes",
    "priority": "priorities",
    "delay_seconds": "delay_seconds",
    "group_id": "group_ids",
    "deduplication_id": "deduplication_ids",
    "trace_id": "trace_ids",
}


#: The options of a message that become SQL parameters unchanged, with their defaults.
_DEFAULTS: Mapping[str, object] = {
    "priority": 0,
    "delay_seconds": None,
    "group_id": None,
    "deduplication_id": None,
    "trace_id": None,
}
#: The limits of one message, and their SQL parameters in a batch. A message that has any is sent by another function.
_LIMITS = {"expires_at": "expires_ats", "max_receives": "max_receives"}
_ONE = (
    "queue text, payload jsonb, attributes jsonb, priority int, delay_seconds double precision, group_id text,"
    " deduplication_id text, trace_id text, body_sha256 bytea"
)
_SEND = statement("send", _ONE)
_LIMITED_ONE = f"{_ONE}, expires_at timestamptz, max_receives int"
_SEND_LIMITED = statement("send_limited", _LIMITED_ONE)
_SEND_COUNTED = statement("send_counted", _LIMITED_ONE, "message_id, group_waiting")


def send(queue: str, payload: object, options: SendOptions) -> Call[int]:
    content_type = arguments.optional_text("content_type", options.get("content_type"))
    text, own = encode_payload(payload, options.get("attributes"), content_type)
    attributes = carried(own, _correlation_id("correlation_id", options.get("correlation_id")))
    given = {**_DEFAULTS, **{name: value for name, value in options.items() if name in _DEFAULTS}}
    parameters = {
        "payload": text,
        "attributes": encode_attributes(attributes),
        "body_sha256": None,
        **arguments.checked(queue=queue, **given),
    }
    parameters["trace_id"] = parameters["trace_id"] or trace_id_of(attributes)
    limits = {name: arguments.check_of(name)(name, options.get(name)) for name in _LIMITS}
    if _have_values(limits):
        return Call(_SEND_LIMITED, {**parameters, **limits}, only_value, _request_send, PUBLISH)
    return Call(_SEND, parameters, only_value, _request_send, PUBLISH)


def send_counted(queue: str, payload: object, options: SendOptions) -> Call[Sent]:
    call = send(queue, payload, options)
    limits = {name: call.parameters.get(name) for name in _LIMITS}
    return Call(
        _SEND_COUNTED, {**call.parameters, **limits}, lambda rows: Sent(*rows[0]), _request_send_counted, PUBLISH
    )


def _request_send_counted(message: Mapping[str, Any]) -> Requests[Sent]:
    members = {**_message(message), "countGroup": "true"}
    answer = yield _request(message["queue"], "", members, wire_names.SEND)
    return Sent(int(answer.document["sequence"]), answer.document["groupWaiting"])


def _request_send(message: Mapping[str, Any]) -> Requests[int]:
    answer = yield _request(message["queue"], "", _message(message), wire_names.SEND)
    return int(answer.document["sequence"])


_BATCH = (
    "queue text, payloads jsonb[], attributes jsonb[], priorities int[], delay_seconds double precision[],"
    " group_ids text[], deduplication_ids text[], trace_ids text[], body_sha256s bytea[]"
)
_SEND_BATCH = statement("send_batch", _BATCH)
_LIMIT_COLUMNS = "expires_ats timestamptz[], max_receives int[]"
_SEND_BATCH_LIMITED = statement("send_batch_limited", f"{_BATCH}, {_LIMIT_COLUMNS}")
_REFUSALS = "message_id, refusal, message, detail, field"
_SEND_EACH = statement("send_each", _BATCH, _REFUSALS)
_SEND_EACH_LIMITED = statement("send_each_limited", f"{_BATCH}, {_LIMIT_COLUMNS}", _REFUSALS)


def send_batch(queue: str, payloads: Sequence[object], options: BatchOptions) -> Call[list[int]]:
    def column(name: str, check: Callable[[str, Any], Any] = arguments.unchecked) -> list[Any] | None:
        values = cast("Mapping[str, Sequence[object] | None]", options).get(name)
        return None if values is None else arguments.column(name, values, len(payloads), check)

    texts, attributes = encode_payloads(
        payloads, column("attributes"), column("content_types", arguments.optional_text)
    )
    parameters: dict[str, Any] = {
        "queue": arguments.text("queue", queue),
        "payloads": texts,
        "body_sha256s": None,
        **{_COLUMNS[name]: column(_COLUMNS[name], arguments.check_of(name)) for name in _DEFAULTS},
    }
    parameters["attributes"], parameters["trace_ids"] = _carried_columns(
        attributes, parameters["trace_ids"], column("correlation_ids", _correlation_id), len(payloads)
    )
    limits = {name: column(name, arguments.check_of(one)) for one, name in _LIMITS.items()}
    if _have_values(limits):
        return Call(_SEND_BATCH_LIMITED, {**parameters, **limits}, only_values, _request_send_batch, PUBLISH)
    return Call(_SEND_BATCH, parameters, only_values, _request_send_batch, PUBLISH)


def _request_send_batch(batch: Mapping[str, Any]) -> Requests[list[int]]:
    if not batch["payloads"]:
        return []
    named = {**_COLUMNS, **_LIMITS}
    columns = {name: batch[column] for name, column in named.items() if batch.get(column) is not None}
    messages = [
        document(
            {
                "clientMessageId": given(str(index)),
                **_message({name: column[index] for name, column in columns.items()}, f"attributes[{index}]"),
            }
        )
        for index in range(len(batch["payloads"]))
    ]
    members = {"atomic": "true", "messages": array(messages)}
    answer = yield _request(batch["queue"], ":batch", members, wire_names.BATCH)
    raise_first_refusal(answer.document["results"], wire_names.BATCH)
    return [int(result["sequence"]) for result in answer.document["results"]]


def send_each(queue: str, messages: Sequence[tuple[object, SendOptions]]) -> Call[list[int | Refused]]:
    calls = [_or_error(send, queue, payload, options) for payload, options in messages]
    sends = [call for call in calls if isinstance(call, Call)]

    def requests(_: Mapping[str, Any]) -> Requests[list[int | Refused]]:
        if not messages:
            return []
        drafts = [_or_error(_message, call.parameters) if isinstance(call, Call) else call for call in calls]
        if not any(isinstance(draft, dict) for draft in drafts):
            return _merged(drafts, iter(()))
        sent = array(document(draft) for draft in drafts if isinstance(draft, dict))
        answer = yield _request(queue, ":batch", {"messages": sent}, wire_names.SEND)
        return _merged(drafts, map(_id_or_refusal, answer.document["results"]))

    limits = _limit_columns(sends)
    return Call(
        _SEND_EACH_LIMITED if limits else _SEND_EACH,
        {**_columns(sends), **limits, "queue": arguments.text("queue", queue)},
        lambda rows: _merged(calls, map(_id_or_refusal_in, rows)),
        requests,
        PUBLISH,
    )


def send_together(sends: Sequence[Call[int]]) -> Call[list[int]]:
    """Send several messages to one queue as one batch, all or none; the answer is their ids in the order given."""
    limits = _limit_columns(sends)
    parameters = {**_columns(sends), **limits, "queue": sends[0].parameters["queue"]}
    return Call(_SEND_BATCH_LIMITED if limits else _SEND_BATCH, parameters, only_values, None, PUBLISH)


def payloads_of(call: Call[T]) -> list[str]:
    """The payloads of a send, an append or a batch, as JSON text."""
    parameters = call.parameters
    return cast("list[str]", parameters["payloads"]) if "payloads" in parameters else [parameters["payload"]]


def with_pointers(call: Call[T], hashes: Mapping[int, str]) -> Call[T]:
    """Replace the payloads at these indexes by pointers to their large bodies."""
    texts = ["null" if index in hashes else text for index, text in enumerate(payloads_of(call))]
    pointers = [bytes.fromhex(hashes[index]) if index in hashes else None for index in range(len(texts))]
    changed = (
        {"payloads": texts, "body_sha256s": pointers}
        if "payloads" in call.parameters
        else {"payload": texts[0], "body_sha256": pointers[0]}
    )
    return replace(call, sql=call.pointing_sql or call.sql, parameters={**call.parameters, **changed})


#: Holds a large body, named by its hash, until the transaction ends; True when no message has pointed to it before.
claim_body: Function[bool] = Function("claim_body", "sha256 bytea, bytes bigint", only_value)


def _columns(sends: Sequence[Call[int]]) -> dict[str, Any]:
    """The parameters of several sends as the columns of a batch."""
    columns = {column: each_or_none(send.parameters[name] for send in sends) for name, column in _COLUMNS.items()}
    if not any(columns["priorities"] or ()):
        columns["priorities"] = None
    return columns | {"payloads": columns["payloads"] or [], "body_sha256s": None}


def _limit_columns(sends: Sequence[Call[int]]) -> dict[str, Any]:
    """The limits of several sends as the columns of a batch; empty when no message has any."""
    columns = {column: each_or_none(send.parameters.get(name) for send in sends) for name, column in _LIMITS.items()}
    return columns if _have_values(columns) else {}


def _carried_columns(
    attributes: list[Any] | None, trace_ids: list[Any] | None, correlation_ids: list[Any] | None, count: int
) -> tuple[list[Any] | None, list[Any] | None]:
    """Add trace and correlation ids to the attributes of a batch; a column without values is None."""
    none = [None] * count
    marked = [carried(*pair) for pair in zip(attributes or none, correlation_ids or none, strict=True)]
    traces = [given or trace_id_of(own) for given, own in zip(trace_ids or none, marked, strict=True)]
    encoded = [encode_attributes(own, f"attributes[{index}]") for index, own in enumerate(marked)]
    return (
        encoded if attributes is not None or any(text is not None for text in encoded) else None,
        traces if trace_ids is not None or any(traces) else None,
    )


def _correlation_id(field: str, value: object) -> str | None:
    text = arguments.optional_text(field, value)
    if text is not None and not 1 <= len(text) <= MAX_CHARACTERS:
        raise InvalidArgument(f"{field} has {len(text)} characters; allowed: 1 to {MAX_CHARACTERS}", field=field)
    if text is not None and not is_printable(text):
        raise InvalidArgument(f"{field} has a control character: use printable characters", field=field)
    return text


def _or_error(make: Callable[P, T], *given: P.args, **options: P.kwargs) -> T | Refused:
    """The value that `make` returns, or the error for a wrong argument."""
    try:
        return make(*given, **options)
    except InvalidArgument as error:
        return error


def _merged(drafts: Iterable[object], answers: Iterator[int | Refused]) -> list[int | Refused]:
    """Merge the answers of the engine with the errors of messages that were not sent, in the order of the messages."""
    return [draft if isinstance(draft, SignalboxError) else next(answers) for draft in drafts]


def _id_or_refusal_in(row: Row) -> int | Refused:
    message_id, sqlstate, message, detail, field = row
    return message_id if sqlstate is None else refusal_of(sqlstate, message, detail, field or None)


def _id_or_refusal(result: Mapping[str, Any]) -> int | Refused:
    if result["status"] == "accepted":
        return int(result["sequence"])
    error = error_of(result["error"], wire_names.SEND)
    if not isinstance(error, SignalboxError):
        raise error
    return error


def _request(queue: str, verb: str, members: Mapping[str, str | None], names: Mapping[str, str]) -> Request:
    path = address("queues", queue, "messages", verb) if verb else address("queues", queue, "messages")
    return Request("POST", path, document(members), names, keyed=True, durations=PUBLISH)


def _message(parameters: Mapping[str, Any], attributes: str = "attributes") -> dict[str, str | None]:
    """Write a message as a member of an HTTP document; its payload and attributes are JSON text already."""
    return {
        "body": parameters["payload"],
        "messageGroupId": given(parameters.get("group_id")),
        "deduplicationKey": given(parameters.get("deduplication_id")),
        "delaySeconds": given(parameters.get("delay_seconds")),
        "expiresAt": given(_iso(parameters.get("expires_at"))),
        "maxReceiveCount": given(parameters.get("max_receives")),
        "traceId": given(parameters.get("trace_id")),
        "attributes": _wire_attributes(parameters.get("attributes"), parameters.get("priority") or 0, attributes),
    }


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _have_values(limits: Mapping[str, object]) -> bool:
    return any(limit is not None for limit in limits.values())


def _wire_attributes(text: str | None, priority: int, field: str) -> str | None:
    """Add the priority to the attributes, where HTTP documents have it."""
    if not priority and '"priority"' not in (text or ""):
        return text
    attributes = json.loads(text or "{}")
    if "priority" in attributes:
        raise InvalidArgument(
            f"{field} has the key priority, which over HTTP is the message's priority: use priority=", field=field
        )
    return json.dumps(attributes | {"priority": priority} if priority else attributes, ensure_ascii=False)
