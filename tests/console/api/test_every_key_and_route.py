"""Who reaches what: every route of the router, asked with every kind of key."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.utils import timezone

from console.api_keys import SCOPES, keeping
from console.api_keys.models import ApiKey
from tests.console.api.callers import Answer, Caller
from tests.console.api.routes import ROWS, Route, Row, address, open_routes, routes
from tests.console.api.worlds import TENANT, World

ROUTES = routes()
OPEN = {("GET", "/v1/openapi.json")}
"""Addresses without a key, and no others."""

MakeCaller = Callable[..., Caller]


@pytest.fixture
def world(caller: Caller, connect: Callable[..., psycopg.Connection[Any]]) -> World:
    return World(connect(), caller)


def asked(caller: Caller, route: Route, row: Row, world: World) -> Answer:
    path, document = address(route, row, world), row.document(world)
    if document is None and route[0] in ("POST", "PATCH"):
        document = {}
    return caller.call(route[0], path, document)


def test_every_route_has_a_row() -> None:
    assert set(ROUTES) - set(ROWS) == set()


def test_what_only_looks_is_asked_for_with_get() -> None:
    assert {route[0] for route, scope in ROUTES.items() if scope in ("read", "peek")} == {"GET"}


def test_nothing_else_is_open() -> None:
    assert open_routes() == OPEN


def test_every_route_demands_a_scope_that_there_is() -> None:
    assert set(ROUTES.values()) <= set(SCOPES)


def ended(caller: Caller, **values: Any) -> Caller:
    """The same caller once something has befallen its key."""
    identifier = caller.key.removeprefix("sbx_").split(".")[0]
    assert ApiKey.objects.filter(identifier=identifier).update(**values) == 1
    return caller


@pytest.mark.parametrize("route", sorted(ROUTES), ids=" ".join)
def test_without_a_good_key_nothing_is_answered(
    make_caller: MakeCaller, stranger: Caller, world: World, route: Route
) -> None:
    now = timezone.now()
    kinds = {
        "none": stranger,
        "wrong": Caller(stranger.url, make_caller().key[:-3] + "AAA"),
        "nonsense": Caller(stranger.url, "sesame"),
        "expired": ended(make_caller(), expires_at=now - timedelta(seconds=1)),
        "revoked": ended(make_caller(), revoked_at=now),
    }

    answers = {kind: asked(caller, route, ROWS[route], world) for kind, caller in kinds.items()}

    assert {kind: (answer.status, answer.kind) for kind, answer in answers.items()} == dict.fromkeys(
        kinds, (401, "unauthorized")
    )
    assert all(answer.headers["www-authenticate"].startswith("Bearer") for answer in answers.values())
    assert "has expired" in answers["expired"].document["detail"]
    assert "is revoked" in answers["revoked"].document["detail"]


@pytest.mark.parametrize("route", sorted(ROUTES), ids=" ".join)
def test_all_scopes_but_the_right_one_are_not_enough(make_caller: MakeCaller, world: World, route: Route) -> None:
    others = make_caller([scope for scope in SCOPES if scope != ROUTES[route]])

    refused = asked(others, route, ROWS[route], world)

    assert (refused.status, refused.kind, refused.document["scope"]) == (403, "scope-lacking", ROUTES[route])


@pytest.mark.parametrize("route", sorted(route for route in ROUTES if ROWS[route].of_queue), ids=" ".join)
def test_what_is_of_others_does_not_exist(make_caller: MakeCaller, world: World, route: Route) -> None:
    row = ROWS[route]

    for foreign in (make_caller(tenant="matrix-others"), make_caller(prefix="elsewhere-")):
        answer = asked(foreign, route, row, world)
        if row.is_list:
            assert answer.status == 200
            assert world.queue not in answer.content.decode()
        else:
            assert answer.status == 404, answer.content
            assert answer.kind in ("queue-not-found", "job-not-found", "message-not-found")


@pytest.mark.parametrize("route", sorted(ROUTES), ids=" ".join)
def test_the_right_key_and_no_more_than_that_is_enough(make_caller: MakeCaller, world: World, route: Route) -> None:
    right = make_caller(ROUTES[route], tenant=TENANT, prefix=world.queue)

    answer = asked(right, route, ROWS[route], world)

    assert answer.status == ROWS[route].right, answer.content
    if ROWS[route].is_list:
        assert world.queue in answer.content.decode()


OF_MESSAGES = [route for route in ROUTES if route[1].startswith("/v1/queues/{}/messages/{}")]


@pytest.mark.parametrize("route", sorted(OF_MESSAGES), ids=" ".join)
def test_a_message_or_a_lease_of_others_is_not_found_in_one_s_own_queue(
    make_caller: MakeCaller, caller: Caller, connect: Callable[..., psycopg.Connection[Any]], route: Route
) -> None:
    theirs, ours, row = World(connect(), caller), World(connect(), caller), ROWS[route]
    right = make_caller(ROUTES[route], tenant=TENANT, prefix=ours.queue)
    path = route[1].format(ours.queue, row.places(theirs)[1])

    answer = right.call(route[0], path, row.document(ours) or ({} if route[0] == "POST" else None))

    assert (answer.status, answer.kind) == (404, "message-not-found")


@pytest.mark.parametrize("verb", ["ack", "nack", "change-visibility", "ack-and-receive"])
def test_leases_of_others_stay_as_they_are_in_a_batch(
    make_caller: MakeCaller, caller: Caller, connect: Callable[..., psycopg.Connection[Any]], verb: str
) -> None:
    route = ("POST", f"/v1/queues/{{}}/messages:{verb}")
    theirs, ours = World(connect(), caller), World(connect(), caller)
    right = make_caller("receive", tenant=TENANT, prefix=ours.queue)
    document = ROWS[route].document(theirs)

    right.call("POST", route[1].format(ours.queue), document)

    assert theirs.engine.counted() == theirs.engine.recounted() == (0, 0, 1, 0, 0)
    handles = document.get("receiptHandles") or [one["receiptHandle"] for one in document["messages"]]
    assert theirs.engine.ack(*handles) == [True]


def _in_the_end(happened: Callable[[], bool]) -> bool:
    """Looks until it has, for as long as a busy machine may take."""
    ends_at = time.monotonic() + 90
    while not happened():
        if time.monotonic() > ends_at:
            return False
        time.sleep(0.1)
    return True


def test_a_key_revoked_here_is_refused_there(make_caller: MakeCaller, world: World) -> None:
    """The server is another process: it learns of it when what it remembers is stale, and that is waited for."""
    caller = make_caller("read,send")
    name = ApiKey.objects.get(identifier=caller.key.removeprefix("sbx_").split(".")[0]).name
    path = f"/v1/queues/{world.queue}/messages"
    assert caller.post(path, {"body": 1}).status == 202

    found = keeping.find(name)
    assert found is not None
    keeping.revoke(found.pk, actor="ana")

    assert _in_the_end(lambda: caller.post(path, {"body": 1}).status == 401)


def test_a_use_is_noted(make_caller: MakeCaller, world: World) -> None:
    caller = make_caller("send")
    identifier = caller.key.removeprefix("sbx_").split(".")[0]

    caller.post(f"/v1/queues/{world.queue}/messages", {"body": 1})

    assert _in_the_end(lambda: ApiKey.objects.get(identifier=identifier).last_used_at is not None)


def test_a_key_that_asks_too_fast_is_told_when_to_come_back(make_caller: MakeCaller, world: World) -> None:
    caller = make_caller("send", rate=0.001)
    path = f"/v1/queues/{world.queue}/messages"

    assert caller.post(path, {"body": 1}).status == 202
    refused = caller.post(path, {"body": 1})

    assert (refused.status, refused.kind) == (429, "rate-exceeded")
    assert 1 <= int(refused.headers["retry-after"]) <= 1000
    assert (refused.document["limitName"], refused.document["limit"]) == ("rate", 0.001)
    assert world.engine.recounted()[0] == 1


def test_a_key_has_so_many_requests_under_way_and_gets_the_place_back(make_caller: MakeCaller, world: World) -> None:
    caller = make_caller("send", connections=1)
    path = f"/v1/queues/{world.queue}/messages"

    with begun(caller, path):  # its body never comes to an end
        assert _in_the_end(lambda: caller.post(path, {"body": 1}).status == 429)
        refused = caller.post(path, {"body": 1})
        assert (refused.kind, refused.headers["retry-after"]) == ("too-many-connections", "1")
        assert (refused.document["limit"], refused.document["actual"]) == (1, 1)
        assert make_caller("send", connections=1).post(path, {"body": 1}).status == 202

    assert _in_the_end(lambda: caller.post(path, {"body": 1}).status == 202)


@contextmanager
def begun(caller: Caller, path: str) -> Iterator[None]:
    """A request under way, whose sender goes at the end."""
    place = urlsplit(caller.url)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {caller.key}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with socket.create_connection((place.hostname, place.port or 80)) as connection:
        connection.sendall(head.encode())
        yield
