"""send and send_batch over HTTP. What they check and encode is what the statements of the database flavour do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from signalbox import statements
from signalbox.durations import PUBLISH
from signalbox.errors import InvalidArgument
from signalbox.http import names
from signalbox.http.call import Answer, Call, address, array, document, given
from signalbox.http.problems import raised_in_batch
from signalbox.statements import BatchOptions, SendOptions

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
