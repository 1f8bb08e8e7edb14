"""Reach of keys: every route of the router, requested with every kind of key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from console.access.api_keys import SCOPES
from console.access.api_keys.models import ApiKey
from tests.console.api.callers import Answer, Caller
from tests.console.api.routes import ROWS, Route, Row, address, open_routes, routes
from tests.console.api.worlds import TENANT, World

ROUTES = routes()
OPEN = {("GET", "/v1/openapi.json")}
"""Addresses without a key, and no others."""

MakeCaller = Callable[..., Caller]


def asked(caller: Caller, route: Route, row: Row, world: World) -> Answer:
    path, document = address(route, row, world), row.document(world)
    if document is None and route[0] in ("POST", "PATCH"):
        document = {}
    return caller.call(route[0], path, document)


def test_every_route_has_a_row() -> None:
    assert set(ROUTES) == set(ROWS)


def test_what_only_looks_is_asked_for_with_get() -> None:
    assert {route[0] for route, scope in ROUTES.items() if scope in ("read", "peek")} == {"GET"}


def test_nothing_else_is_open() -> None:
    assert open_routes() == OPEN


def test_every_route_demands_a_scope_that_there_is() -> None:
    assert set(ROUTES.values()) <= set(SCOPES)


def ended(caller: Caller, **values: Any) -> Caller:
    """Caller whose key was changed after its first use."""
    identifier = caller.key.removeprefix("sbx_").split(".")[0]
    assert ApiKey.objects.filter(identifier=identifier).update(**values) == 1
    return caller


@pytest.mark.parametrize("route", sorted(ROUTES), ids=" ".join)
def test_without_a_good_key_nothing_is_answered(
    make_caller: MakeCaller, stranger: Caller, world: World, route: Route
) -> None:
    now, right = timezone.now(), make_caller().key
    kinds = {
        "none": stranger,
        "wrong": Caller(stranger.url, right[:-1] + ("A" if right[-1] != "A" else "B")),
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
            assert answer.kind in ("queue-not-found", "job-not-found", "message-not-found", "stream-not-found")


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
