"""Queues and their consumers: creating, configuring, listing, describing, purging, announcing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from signalbox import arguments
from signalbox.calls import wire_names
from signalbox.calls.call import Call, Function, Row, only_value, statement
from signalbox.calls.request import Request, Requests, address, document, every_page, given, number_in
from signalbox.errors import QueueNotFound

#: Seconds for which purged messages can be restored, unless the call names another time.
TRASH_SECONDS = 86_400.0
#: The most queues in one answer of a server.
QUEUES_TOGETHER = 500

QueueState = Literal["active", "paused", "closed"]

#: The states of messages in a queue: ready, waiting for their message group, scheduled, in flight, dead.
STATES = ("ready", "waiting", "scheduled", "leased", "dead")


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """A queue with its settings. `describe_queue` adds `messages` by state, and `oldest_visible_seconds`.

    These numbers are exact at the moment of reading, whatever the number of messages.
    """

    id: int
    name: str
    tenant: str
    state: QueueState
    is_dead_letter_queue: bool
    settings: Mapping[str, Any]
    messages: Mapping[str, int] | None = None
    oldest_visible_seconds: float | None = None


def _request_create(queue: Mapping[str, Any]) -> Requests[int]:
    members = {"name": given(queue["name"]), "tenant": given(queue["tenant"])} | _wire_settings(queue["settings"])
    answer = yield Request("POST", address("queues"), document(members), wire_names.SETTINGS)
    return number_in(answer.document["queueId"])


def _request_configure(queue: Mapping[str, Any]) -> Requests[int]:
    settings = document(_wire_settings(queue["settings"]))
    answer = yield Request("PATCH", address("queues", queue["name"]), settings, wire_names.SETTINGS)
    return number_in(answer.document["queueId"])


create_queue: Function[int] = Function(
    "create_queue", "name text, settings jsonb, tenant text", only_value, requests=_request_create
)
configure_queue: Function[int] = Function(
    "configure_queue", "name text, settings jsonb", only_value, requests=_request_configure
)

_SETTINGS = """select
  q.queue_id,
  q.name,
  t.name,
  q.paused,
  q.closed,
  q.is_dead_letter_queue,
  (select jsonb_object_agg(d.name, to_jsonb(q) -> d.name) from signalbox.setting_definition d)::text
"""


def list_queues(prefix: str) -> Call[list[QueueInfo]]:
    return Call(
        _SETTINGS
        + """
        from signalbox.queue q
        join signalbox.tenant t using (tenant_id)
        where starts_with(q.name, %(prefix)s::text)
        order by q.name
        """,
        arguments.checked(prefix=prefix),
        lambda rows: [_queue(row) for row in rows],
        _request_list,
    )


def _request_list(query: Mapping[str, Any]) -> Requests[list[QueueInfo]]:
    members = {"prefix": query["prefix"], "limit": QUEUES_TOGETHER}
    return [_queue_in(wire) for wire in (yield from every_page(address("queues"), members, "queues"))]


def describe_queue(name: str) -> Call[QueueInfo]:
    def read(rows: list[Row]) -> QueueInfo:
        if not rows:
            raise QueueNotFound(f"queue {name[:120]!r} does not exist")
        return _queue(rows[0])

    return Call(
        _SETTINGS
        + """,
          n.oldest_visible_seconds,
          signalbox.depth(n.totals, 'ready'),
          signalbox.depth(n.totals, 'waiting'),
          signalbox.depth(n.totals, 'scheduled'),
          signalbox.depth(n.totals, 'leased'),
          signalbox.depth(n.totals, case when q.is_dead_letter_queue then 'held' else 'dead' end)
        from signalbox.queue q
        join signalbox.tenant t using (tenant_id)
        cross join lateral signalbox.queue_numbers(array[q.queue_id]) n
        where q.name = %(name)s::text
        """,
        {"name": arguments.text("queue", name)},
        read,
        _request_describe,
    )


def _request_describe(query: Mapping[str, Any]) -> Requests[QueueInfo]:
    answer = yield Request("GET", address("queues", query["name"]))
    return _queue_in(answer.document)


_PURGE = statement(
    "purge_to_trash",
    "queue text, through_message_id bigint, states text[], max_messages int, keep_seconds double precision",
)


def purge(
    queue: str, through_message_id: int | None, states: Sequence[str], max_messages: int, keep_seconds: float
) -> Call[int]:
    return Call(
        _PURGE,
        {
            **arguments.checked(queue=queue, max_messages=max_messages),
            "through_message_id": through_message_id,
            "states": arguments.column("states", states, len(states), arguments.text),
            "keep_seconds": float(keep_seconds),
        },
        only_value,
    )


def _request_announce(consumer: Mapping[str, Any]) -> Requests[None]:
    members = {"consumer": given(consumer["consumer"]), "details": consumer["details"]}
    yield Request("POST", address("queues", consumer["queue"], "consumers"), document(members))


_ANNOUNCE = statement("announce_consumer", "queue text, consumer text, details jsonb")


def announce_consumer(queue: str, consumer: str, details: Mapping[str, object]) -> Call[None]:
    given = {
        "queue": arguments.text("queue", queue),
        "consumer": arguments.text("consumer", consumer),
        "details": arguments.json_object("details", details),
    }
    return Call(_ANNOUNCE, given, lambda _: None, _request_announce)


def _queue(row: Row) -> QueueInfo:
    queue_id, name, tenant, paused, closed, is_dead_letter_queue, settings, *numbers = row
    oldest, *counts = numbers or (None,)
    return QueueInfo(
        id=queue_id,
        name=name,
        tenant=tenant,
        state="paused" if paused else "closed" if closed else "active",
        is_dead_letter_queue=is_dead_letter_queue,
        settings=json.loads(settings),
        messages=dict(zip(STATES, counts, strict=True)) if counts else None,
        oldest_visible_seconds=oldest,
    )


_NOT_SETTINGS = frozenset(
    {"queueId", "name", "tenant", "state", "isDeadLetterQueue", "createdAt", "messages", "oldestVisibleAgeSeconds"}
)


def _queue_in(wire: Mapping[str, Any]) -> QueueInfo:
    return QueueInfo(
        id=number_in(wire["queueId"]),
        name=wire["name"],
        tenant=wire["tenant"],
        state=wire["state"],
        is_dead_letter_queue=wire["isDeadLetterQueue"],
        settings=wire_names.settings_back({name: wire[name] for name in wire.keys() - _NOT_SETTINGS}),
        messages=wire.get("messages"),
        oldest_visible_seconds=wire.get("oldestVisibleAgeSeconds"),
    )


def _wire_settings(text: str) -> dict[str, str | None]:
    """Write settings as members of an HTTP document; None becomes null and is not left out."""
    return {name: json.dumps(value) for name, value in wire_names.settings(json.loads(text)).items()}
