"""Queues and consumers over HTTP: making, configuring, announcing."""

from __future__ import annotations

import json
from collections.abc import Mapping

from signalbox import statements
from signalbox.http import names
from signalbox.http.call import Answer, Call, address, document, given, number_in


def create_queue(name: str, settings: Mapping[str, object], tenant: str | None = None) -> Call[int]:
    """A queue of this name with these settings; its id. Repeating it with equal settings changes nothing."""
    checked = statements.create_queue(name, settings, tenant).parameters
    wire = names.settings(json.loads(checked["settings"]))
    members = {"name": name, "tenant": checked["tenant"]}
    return Call(
        "POST",
        address("queues"),
        _queue_id,
        document({member: given(value) for member, value in members.items()} | _written(wire)),
        names.SETTINGS,
    )


def configure_queue(name: str, settings: Mapping[str, object]) -> Call[int]:
    """The settings named become these, the others stay; the queue's id."""
    checked = statements.configure_queue(name, settings).parameters
    wire = names.settings(json.loads(checked["settings"]))
    return Call("PATCH", address("queues", name), _queue_id, document(_written(wire)), names.SETTINGS)


def announce_consumer(queue: str, consumer: str, details: Mapping[str, object]) -> Call[None]:
    """Tell the console that this consumer is alive, and what it is."""
    checked = statements.announce_consumer(queue, consumer, details).parameters
    return Call(
        "POST",
        address("queues", queue, "consumers"),
        lambda _: None,
        document({"consumer": given(checked["consumer"]), "details": checked["details"]}),
    )


def _written(settings: Mapping[str, object]) -> dict[str, str | None]:
    """Settings as JSON text; one that is None is said to be null, which is not to leave it out."""
    return {name: json.dumps(value) for name, value in settings.items()}


def _queue_id(answer: Answer) -> int:
    return number_in(answer.document["queueId"])
