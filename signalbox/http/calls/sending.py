"""send and send_batch over HTTP. What they check and encode is what the statements of the database flavour do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from signalbox import statements
from signalbox.durations import PUBLISH
from signalbox.errors import InvalidArgument, SignalboxError
from signalbox.http import names
from signalbox.http.call import Answer, Call, address, array, document, given
from signalbox.http.problems import error_of, raised_in_batch
from signalbox.statements import BatchOptions, Refused, SendOptions

#: The column of a batch for each parameter of a message.
_COLUMNS = {
    "payload": "payloads",
    "attributes": "attributes",
    "priority": "priorities",
    "delay_seconds": "delay_seconds",
    "group_id": "group_ids",
    "deduplication_id": "deduplication_ids",
    "trace_id": "trace_ids",
}


def send(queue: str, payload: object, options: SendOptions) -> Call[int]:
    """One message; its id."""
    parameters = statements.send(queue, payload, options).parameters
    return Call(
        "POST",
        address("queues", queue, "messages"),
        lambda answer: int(answer.document["sequence"]),
        document(_message(parameters, "attributes")),
        names.SEND | names.SEND_PRIORITY,
        keyed=True,
        durations=PUBLISH,
    )


def send_batch(queue: str, payloads: Sequence[object], options: BatchOptions) -> Call[list[int]]:
    """Many messages, all or none; their ids in the order of the payloads."""
    columns = statements.send_batch(queue, payloads, options).parameters
    messages = [
        document(
            {
                "clientMessageId": given(str(place)),
                **_message(
                    {name: column[place] for name, many in _COLUMNS.items() if (column := columns[many]) is not None},
                    f"attributes[{place}]",
                ),
            }
        )
        for place in range(len(payloads))
    ]
    return Call(
        "POST",
        address("queues", queue, "messages", ":batch"),
        _ids,
        document({"atomic": "true", "messages": array(messages)}),
        names.BATCH,
        keyed=True,
        durations=PUBLISH,
    )


def send_each(queue: str, messages: Sequence[tuple[object, SendOptions]]) -> Call[list[int | Refused]]:
    """Payloads with what is said of each; the ids, or why refused. What is wrong in itself is not sent."""
    tried = [_document_or_refusal(queue, payload, options) for payload, options in messages]
    documents = [one for one in tried if isinstance(one, str)]

    def read(answer: Answer) -> list[int | Refused]:
        results = iter(answer.document["results"])
        return [_id_or_refusal(next(results)) if isinstance(one, str) else one for one in tried]

    return Call(
        "POST",
        address("queues", queue, "messages", ":batch"),
        read,
        document({"messages": array(documents)}),
        names.SEND | names.SEND_PRIORITY,
        keyed=True,
        durations=PUBLISH,
    )


def _document_or_refusal(queue: str, payload: object, options: SendOptions) -> str | Refused:
    try:
        return document(_message(statements.send(queue, payload, options).parameters, "attributes"))
    except InvalidArgument as error:
        return error


def _id_or_refusal(result: Mapping[str, Any]) -> int | Refused:
    if result["status"] == "accepted":
        return int(result["sequence"])
    error = error_of(result["error"], names.SEND | names.SEND_PRIORITY)
    if not isinstance(error, SignalboxError):
        raise error
    return error


def _message(parameters: Mapping[str, Any], attributes: str) -> dict[str, str | None]:
    """A message as the wire has it; its payload and attributes are JSON text already."""
    return {
        "body": parameters["payload"],
        "messageGroupId": given(parameters.get("group_id")),
        "deduplicationKey": given(parameters.get("deduplication_id")),
        "delaySeconds": given(parameters.get("delay_seconds")),
        "traceId": given(parameters.get("trace_id")),
        "attributes": _attributes(parameters.get("attributes"), parameters.get("priority") or 0, attributes),
    }


def _attributes(text: str | None, priority: int, field: str) -> str | None:
    """The attributes with the message's priority among them, which is where the wire has it."""
    if not priority and '"priority"' not in (text or ""):
        return text
    attributes = json.loads(text or "{}")
    if "priority" in attributes:
        raise InvalidArgument(
            f"{field} has the key priority, which over HTTP is the message's own: use priority=", field=field
        )
    return json.dumps(attributes | {"priority": priority} if priority else attributes, ensure_ascii=False)


def _ids(answer: Answer) -> list[int]:
    raised_in_batch(answer.document["results"], names.BATCH)
    return [int(result["sequence"]) for result in answer.document["results"]]
