"""Every route of the API beside a request that it answers, for tests that ask all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from console.api.core.authentication import ApiKey
from console.api.routes import PREFIX, api
from tests.console.api.worlds import World

Route = tuple[str, str]
"""Method, and path with {} for what is in it."""


@dataclass(frozen=True)
class Row:
    """`places` fill the path, and `document` is the body; both are made for a world when the request is."""

    right: int
    places: Callable[[World], Sequence[str]] = lambda world: [world.queue]
    document: Callable[[World], Any] = lambda world: None
    is_list: bool = False
    """It answers a key that reaches nothing, with nothing."""
    of_queue: bool = field(default=True)
    """It names a queue, or something of one."""


def routes() -> dict[Route, str]:
    """Every route that needs a key, with the scope that it demands: as the router has them."""
    found = {}
    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            for operation in view.operations:
                scopes = [one.scope for one in operation.auth_callbacks or () if isinstance(one, ApiKey)]
                for method in operation.methods if scopes else ():
                    found[method, plain(f"{prefix}{path}")] = scopes[0]
    return found


def open_routes() -> set[Route]:
    """Routes that need no key."""
    every = {
        (method, plain(f"{prefix}{path}"))
        for prefix, router in api._routers
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
    }
    return every - set(routes())


def plain(path: str) -> str:
    return PREFIX + re.sub(r"\{[^}]*\}", "{}", path).lstrip("/")


def address(route: Route, row: Row, world: World) -> str:
    """The path of a request."""
    return route[1].format(*row.places(world))


def _handle(world: World) -> list[str]:
    return [world.queue, world.handle]


def _messages(**options: Any) -> Callable[[World], Any]:
    return lambda world: {"messages": [{"receiptHandle": world.handle, **options}]}


_QUEUE, _REDRIVE, _PURGE = "/v1/queues/{}", "/v1/redrives/{}", "/v1/purges/{}"
_MESSAGES = f"{_QUEUE}/messages"
_STREAM = "/v1/streams/{}"
_GROUP = f"{_STREAM}/groups/{{}}"


def _stream(world: World) -> list[str]:
    return [world.stream]


def _group(world: World) -> list[str]:
    return [world.stream, world.group]


ROWS: dict[Route, Row] = {
    ("POST", "/v1/queues"): Row(
        201,
        places=lambda world: [],
        document=lambda world: {"name": f"{world.queue}-new", "mode": "STANDARD"},
        of_queue=False,
    ),
    ("GET", "/v1/queues"): Row(200, places=lambda world: [], is_list=True),
    ("GET", _QUEUE): Row(200),
    ("PATCH", _QUEUE): Row(200, document=lambda world: {"maxReceiveCount": 7}),
    ("DELETE", _QUEUE): Row(204, places=lambda world: [world.empty_queue]),
    ("POST", _MESSAGES): Row(202, document=lambda world: {"body": {"n": 1}}),
    ("POST", f"{_MESSAGES}:batch"): Row(
        200, document=lambda world: {"messages": [{"clientMessageId": "m1", "body": {"n": 1}}]}
    ),
    ("POST", f"{_MESSAGES}:receive"): Row(200, document=lambda world: {"maxMessages": 1}),
    ("GET", _MESSAGES): Row(200),
    ("GET", f"{_MESSAGES}/{{}}"): Row(200, places=lambda world: [world.queue, world.message]),
    ("GET", "/v1/messages/{}"): Row(200, places=lambda world: [world.message]),
    ("POST", f"{_MESSAGES}/{{}}:ack"): Row(204, places=_handle),
    ("POST", f"{_MESSAGES}/{{}}:nack"): Row(204, places=_handle, document=lambda world: {"reason": "no"}),
    ("POST", f"{_MESSAGES}/{{}}:defer"): Row(204, places=_handle, document=lambda world: {"delaySeconds": 60}),
    ("POST", f"{_MESSAGES}/{{}}:change-visibility"): Row(
        204, places=_handle, document=lambda world: {"visibilityTimeoutSeconds": 60}
    ),
    ("POST", f"{_MESSAGES}:ack"): Row(200, document=lambda world: {"receiptHandles": [world.handle]}),
    ("POST", f"{_MESSAGES}:nack"): Row(200, document=_messages(reason="no")),
    ("POST", f"{_MESSAGES}:defer"): Row(200, document=_messages(delaySeconds=60)),
    ("POST", f"{_MESSAGES}:change-visibility"): Row(
        200, document=lambda world: {"receiptHandles": [world.handle], "visibilityTimeoutSeconds": 60}
    ),
    ("POST", f"{_MESSAGES}:ack-and-receive"): Row(200, document=lambda world: {"receiptHandles": [world.handle]}),
    ("POST", f"{_QUEUE}/consumers"): Row(204, document=lambda world: {"consumer": "w1", "details": {}}),
    ("POST", f"{_QUEUE}:redrive"): Row(202, places=lambda world: [world.dlq]),
    ("GET", "/v1/redrives"): Row(200, places=lambda world: [world.redrive][:0], is_list=True),
    ("GET", _REDRIVE): Row(200, places=lambda world: [world.redrive]),
    ("PATCH", _REDRIVE): Row(
        200, places=lambda world: [world.redrive], document=lambda world: {"maxMessagesPerSecond": 5}
    ),
    ("POST", f"{_REDRIVE}:pause"): Row(200, places=lambda world: [world.redrive]),
    ("POST", f"{_REDRIVE}:resume"): Row(200, places=lambda world: [world.paused_redrive]),
    ("POST", f"{_REDRIVE}:cancel"): Row(200, places=lambda world: [world.redrive]),
    ("POST", f"{_QUEUE}:purge-plan"): Row(200),
    ("POST", f"{_QUEUE}:purge"): Row(202, document=lambda world: world.purge_plan),
    ("GET", _PURGE): Row(200, places=lambda world: [world.purge]),
    ("POST", f"{_PURGE}:cancel"): Row(200, places=lambda world: [world.purge]),
    ("GET", "/v1/subscriptions"): Row(200, places=lambda world: [world.subscriber][:0], is_list=True),
    ("POST", f"{_QUEUE}/subscriptions"): Row(201, document=lambda world: {"target": world.empty_queue}),
    ("PATCH", f"{_QUEUE}/subscriptions/{{}}"): Row(
        200, places=lambda world: [world.queue, world.subscriber], document=lambda world: {"paused": True}
    ),
    ("DELETE", f"{_QUEUE}/subscriptions/{{}}"): Row(200, places=lambda world: [world.queue, world.subscriber]),
    ("GET", "/v1/captures"): Row(200, places=lambda world: [world.captured_table][:0], is_list=True),
    ("POST", f"{_STREAM}/captures"): Row(
        201, places=lambda world: [world.stream], document=lambda world: {"table": world.capturable_table}
    ),
    ("DELETE", f"{_STREAM}/captures/{{}}"): Row(200, places=lambda world: [world.stream, world.captured_table]),
    ("POST", "/v1/streams"): Row(
        201,
        places=lambda world: [],
        document=lambda world: {"name": f"{world.queue}-new", "partitions": 1},
        of_queue=False,
    ),
    ("GET", "/v1/streams"): Row(200, places=lambda world: [world.stream][:0], is_list=True),
    ("GET", _STREAM): Row(200, places=_stream),
    ("PATCH", _STREAM): Row(200, places=_stream, document=lambda world: {"retentionSeconds": 7200}),
    ("POST", f"{_STREAM}:preview-partitions"): Row(200, places=_stream, document=lambda world: {"partitions": 8}),
    ("POST", f"{_STREAM}:rename"): Row(
        200, places=_stream, document=lambda world: {"newName": f"{world.queue}-renamed"}
    ),
    ("DELETE", _STREAM): Row(204, places=lambda world: [world.closed_stream]),
    ("POST", f"{_STREAM}/messages"): Row(202, places=_stream, document=lambda world: {"body": 1, "key": "k"}),
    ("POST", f"{_STREAM}/messages:batch"): Row(
        200, places=_stream, document=lambda world: {"messages": [{"body": 1}, {"body": 2, "key": "k"}]}
    ),
    ("GET", f"{_STREAM}/groups"): Row(200, places=_stream),
    ("POST", f"{_STREAM}/groups"): Row(201, places=_stream, document=lambda world: {"name": "new"}),
    ("GET", _GROUP): Row(200, places=_group),
    ("PATCH", _GROUP): Row(200, places=_group, document=lambda world: {"filter": "payload.n:1"}),
    ("DELETE", _GROUP): Row(204, places=_group),
    ("POST", f"{_GROUP}:join"): Row(200, places=_group, document=lambda world: {"member": "m"}),
    ("POST", f"{_GROUP}:leave"): Row(200, places=_group, document=lambda world: {"member": "m"}),
    ("POST", f"{_GROUP}:read"): Row(200, places=_group, document=lambda world: {"member": "m"}),
    ("POST", f"{_GROUP}:commit"): Row(
        200,
        places=_group,
        document=lambda world: {"member": "m", "offsets": [{"partition": 0, "position": 0, "epoch": 1}]},
    ),
    ("POST", f"{_GROUP}:seek"): Row(200, places=_group, document=lambda world: {"point": "end"}),
}
"""A route without a row fails `test_every_key_and_route.py`."""
