"""Permissions of keys by queue: a queue out of reach does not exist for a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.console.api.callers import Caller
from tests.engine import Engine

Callers = Callable[..., Caller]

CALLS: dict[str, tuple[str, str, Any]] = {
    "send": ("POST", "/messages", {"body": 1}),
    "send batch": ("POST", "/messages:batch", {"messages": [{"body": 1}]}),
    "receive": ("POST", "/messages:receive", {}),
    "ack": ("POST", "/messages/{handle}:ack", None),
    "nack": ("POST", "/messages/{handle}:nack", {}),
    "change visibility": ("POST", "/messages/{handle}:change-visibility", {"visibilityTimeoutSeconds": 1}),
    "ack batch": ("POST", "/messages:ack", {"receiptHandles": ["{handle}"]}),
    "nack batch": ("POST", "/messages:nack", {"messages": [{"receiptHandle": "{handle}"}]}),
    "change batch": (
        "POST",
        "/messages:change-visibility",
        {"receiptHandles": ["{handle}"], "visibilityTimeoutSeconds": 1},
    ),
    "ack and receive": ("POST", "/messages:ack-and-receive", {"receiptHandles": ["{handle}"]}),
    "announce": ("POST", "/consumers", {"consumer": "c"}),
    "outcome": ("GET", "/messages/msg_1", None),
}
SCOPES = dict.fromkeys(CALLS, "receive") | {"send": "send", "send batch": "send", "outcome": "read"}
A_HANDLE = "1.1.00000000-0000-0000-0000-000000000000"
OTHERS = ["send", "receive", "read", "peek", "redrive", "purge", "configure"]


def call(caller: Caller, queue: str, name: str, handle: str) -> Any:
    method, path, document = CALLS[name]
    filled = None if document is None else _filled(document, handle)
    return caller.call(method, f"/v1/queues/{queue}{path.format(handle=handle)}", filled)


def _filled(value: Any, handle: str) -> Any:
    if isinstance(value, dict):
        return {name: _filled(one, handle) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, handle) for one in value]
    return handle if value == "{handle}" else value


@pytest.fixture
def handle(engine: Engine) -> str:
    engine.send("theirs")
    return str(engine.receive_one(visibility_timeout=3600)[1])


def test_a_request_without_a_key_learns_nothing(stranger: Caller, engine: Engine) -> None:
    for path in (f"/v1/queues/{engine.queue}/messages", "/v1/queues/none/messages", "/v1/nowhere"):
        refused = stranger.post(path, {"body": 1})
        assert (refused.status, refused.kind) == (401, "unauthorized")
        assert refused.headers["www-authenticate"].startswith("Bearer")
    assert engine.recounted() == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("name", CALLS)
def test_a_key_of_another_tenant_finds_no_queue(make_caller: Callers, engine: Engine, handle: str, name: str) -> None:
    for caller in (make_caller(tenant="another-tenant"), make_caller(prefix="other-")):
        refused = call(caller, engine.queue, name, handle)
        unknown = call(caller, f"{engine.queue}-none", name, handle)
        assert (refused.status, refused.kind) == (404, "queue-not-found")
        assert refused.content == unknown.content.replace(b"-none", b"")
    assert engine.recounted() == (0, 0, 1, 0, 0)


@pytest.mark.parametrize("name", CALLS)
def test_a_missing_scope_is_named(make_caller: Callers, engine: Engine, handle: str, name: str) -> None:
    caller = make_caller([scope for scope in OTHERS if scope != SCOPES[name]])
    refused = call(caller, engine.queue, name, handle)

    assert (refused.status, refused.kind) == (403, "scope-lacking")
    assert refused.document["scope"] == SCOPES[name]
    assert engine.recounted() == (0, 0, 1, 0, 0)


@pytest.mark.parametrize("name", CALLS)
def test_a_key_with_just_the_scope_and_reach_is_served(
    make_caller: Callers, engine: Engine, handle: str, name: str
) -> None:
    caller = make_caller(SCOPES[name], tenant="default", prefix=engine.queue[:4])
    answer = call(caller, engine.queue, name, handle)

    assert answer.status < 300 or (name, answer.kind) == ("outcome", "message-not-found")


def test_a_dead_letter_queue_is_reached_through_its_source(make_caller: Callers, make_engine: Any) -> None:
    engine = make_engine(dead_letter_queue="graves-of-reach")
    engine.die("dead")
    inside, outside = make_caller(prefix=engine.queue), make_caller(prefix="elsewhere")

    assert len(inside.post("/v1/queues/graves-of-reach/messages:receive", {}).document["messages"]) == 1
    assert outside.post("/v1/queues/graves-of-reach/messages:receive", {}).kind == "queue-not-found"


def test_a_dead_letter_queue_of_another_name_is_reached_through_its_source(
    make_caller: Callers, make_engine: Any
) -> None:
    """Another tenant had the name `<queue>-dlq` before."""
    engine = make_engine()
    engine.connection.execute("insert into signalbox.tenant (name) values ('squatter') on conflict do nothing")
    engine.connection.execute(
        "insert into signalbox.queue (name, tenant_id)"
        " select %s, tenant_id from signalbox.tenant where name = 'squatter'",
        [f"{engine.queue}-dlq"],
    )
    engine.die("dead")
    holder = engine.value("select signalbox.dead_letter_queue_name(%s)", engine.queue_id)
    keeper, source = make_caller(prefix=holder), make_caller(prefix=engine.queue, tenant="default")

    assert keeper.post(f"/v1/queues/{holder}/messages:receive", {}).kind == "not-reached"
    assert {queue["name"] for queue in source.get("/v1/queues").document["queues"]} == {engine.queue, holder}
    assert source.post(f"/v1/queues/{engine.queue}-dlq/messages:receive", {}).kind == "queue-not-found"
    assert len(source.post(f"/v1/queues/{holder}/messages:receive", {}).document["messages"]) == 1


def test_a_dead_letter_queue_is_shared_with_those_that_it_served_before(make_caller: Callers, make_engine: Any) -> None:
    graves = "graves-that-changed-hands"
    engine, other = (make_engine(dead_letter_queue=graves) for _ in range(2))
    other.die("another's")
    other.value("select signalbox.configure_queue(%s, '{\"dead_letter_queue\": null}')", other.queue)
    inside, former = make_caller(prefix=engine.queue), make_caller("read", prefix=other.queue)

    assert inside.post(f"/v1/queues/{graves}/messages:receive", {}).kind == "not-reached"
    assert graves in {queue["name"] for queue in former.get("/v1/queues").document["queues"]}


def test_the_name_of_anothers_dead_letter_queue_is_refused(make_caller: Callers, engine: Any) -> None:
    """A queue with that name would take the place of the dead-letter queue."""
    caller = make_caller("configure", tenant="acme")
    for name in (f"{engine.queue}-dlq", f"{engine.queue}-dlq-1"):
        refused = caller.post("/v1/queues", {"name": name})
        assert (refused.status, refused.fields) == (422, ["name"])
        assert "reserved for dead letters" in refused.document["detail"]


def test_a_name_that_begins_with_another_tenants_is_refused_whether_it_is_taken_or_not(make_caller: Callers) -> None:
    everywhere, caller = make_caller(), make_caller("configure", tenant="named-eu")
    for name, tenant in (("named-orders", "named"), ("named-eu-orders", "named-eu")):
        everywhere.post("/v1/queues", {"name": name, "tenant": tenant})

    for name in ("named-orders", "named-orders-dlq", "named.new", "named_new"):
        refused = caller.post("/v1/queues", {"name": name})
        assert (refused.kind, refused.fields) == ("out-of-reach", ["name"])
        mine = {"name": "mine-of-named-eu", "deadLetterQueue": name}
        assert caller.post("/v1/queues", mine).fields == ["deadLetterQueue"]
    for name in ("named-eu-orders", "named-eu-new", "named", "nameds-new"):
        assert caller.post("/v1/queues", {"name": name}).status in (200, 201)


def test_a_dead_letter_queue_that_others_share_is_not_received_from_nor_changed(
    make_caller: Callers, make_engine: Any
) -> None:
    engine, other = (make_engine(dead_letter_queue="graves-that-are-shared") for _ in range(2))
    engine.die("mine")
    letter = other.die("another's")
    theirs = other.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", letter)
    path = "/v1/queues/graves-that-are-shared"
    inside, everywhere = make_caller(prefix=engine.queue), make_caller()

    for verb, wish in [("receive", {"waitSeconds": 1}), ("ack-and-receive", {"receiptHandles": [A_HANDLE]})]:
        assert inside.post(f"{path}/messages:{verb}", wish).kind == "not-reached"
    assert inside.patch(path, {"paused": True}).kind == "not-reached"
    assert inside.get(f"{path}/messages/msg_{theirs}").kind == "message-not-found"
    assert everywhere.get(f"{path}/messages/msg_{theirs}").document["state"] == "dead"
    assert len(everywhere.post(f"{path}/messages:receive", {"maxMessages": 10}).document["messages"]) == 2
    assert inside.get(f"{path}/messages?state=leased").kind == "not-reached"
    assert inside.post(f"{path}:purge-plan", {"states": ["leased"]}).kind == "not-reached"
    assert len(everywhere.get(f"{path}/messages?state=leased").document["messages"]) == 2
