"""Making, listing, changing and deleting queues over HTTP."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from dlq.jobs.models import Purge
from queues.settings import SETTINGS
from tests.console.api.callers import Caller
from tests.engine import Engine

Callers = Callable[..., Caller]
_run = uuid.uuid4().hex[:6]
_names = itertools.count(1)


@pytest.fixture
def name() -> str:
    return f"api-{_run}-{next(_names)}"


def audit(observer: psycopg.Connection[Any], name: str) -> list[tuple[Any, ...]]:
    return observer.execute(
        "select actor, action, details from signalbox.audit_event where queue_name = %s order by audit_event_id", [name]
    ).fetchall()


def test_a_queue_is_made_once(caller: Caller, observer: psycopg.Connection[Any], name: str) -> None:
    wanted = {
        "name": name,
        "mode": "STANDARD",
        "retentionSeconds": 345600,
        "defaultVisibilityTimeoutSeconds": 60,
        "maxReceiveCount": 8,
        "deadLetterQueue": f"{name}-dlq",
    }
    made = caller.post("/v1/queues", wanted)
    assert made.status == 201
    assert made.document["queueId"].startswith("q_")
    assert {field: made.document[field] for field in wanted} == wanted
    assert made.document["state"] == "active"

    again = caller.post("/v1/queues", wanted)
    assert (again.status, again.document) == (200, made.document)
    other = caller.post("/v1/queues", {**wanted, "maxReceiveCount": 9})
    assert (other.status, other.kind, other.fields) == (409, "queue-exists", ["maxReceiveCount"])
    ((actor, action, _),) = audit(observer, name)
    assert (actor[:9], action) == ("key:api-t", "queue.create")


def test_every_setting_has_its_place(caller: Caller, name: str) -> None:
    settings = {
        field: value
        for field, value in caller.post("/v1/queues", {"name": name}).document.items()
        if field not in {"queueId", "name", "tenant", "state", "isDeadLetterQueue", "createdAt"}
    }
    assert len(settings) == len(SETTINGS)
    again = caller.post("/v1/queues", {"name": name, **settings})
    assert again.status == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("maxReceiveCount", 0),
        ("maxReceiveCount", 1.5),
        ("maxReceiveCount", "8"),
        ("mode", "standard"),
        ("jitter", 2),
        ("waitTargetSeconds", 7),
        ("retentionSeconds", None),
        ("paused", 1),
        ("deadLetterQueue", "has space"),
        ("name", "has space"),
        ("name", "x" * 91),
        ("name", "newline\n"),
        ("unheardOf", 1),
        ("tenant", ""),
        ("tenant", "\x00"),
    ],
)
def test_what_is_wrong_is_named(
    caller: Caller, observer: psycopg.Connection[Any], name: str, field: str, value: Any
) -> None:
    refused = caller.post("/v1/queues", {"name": name, field: value})

    assert (refused.status, refused.fields) == (422, [field])
    assert observer.execute("select from signalbox.queue where name = %s", [name]).fetchone() is None


def test_queues_are_listed_by_name_page_by_page(caller: Caller, make_caller: Callers, name: str) -> None:
    names = [f"{name}-{number}" for number in range(5)]
    for one in names:
        caller.post("/v1/queues", {"name": one, "tenant": f"tenant-{name}" if one.endswith("3") else "default"})
    found, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        after = f"&cursor={cursor}" if cursor else ""
        page = caller.get(f"/v1/queues?prefix={name}-&limit=2{after}").document
        found += [queue["name"] for queue in page["queues"]]
        cursor, pages = page["nextCursor"], pages + 1

    assert (found, pages) == (names, 3)
    of_tenant = make_caller("read", tenant=f"tenant-{name}").get("/v1/queues").document["queues"]
    assert [queue["name"] for queue in of_tenant] == [names[3]]
    of_prefix = make_caller("read", prefix=names[4]).get("/v1/queues").document["queues"]
    assert [queue["name"] for queue in of_prefix] == [names[4]]


def test_a_list_holds_dead_letter_queues_of_queues_that_it_holds(make_caller: Callers, make_engine: Any) -> None:
    engine = make_engine(dead_letter_queue=f"graves-of-{_run}")
    implied = make_engine()
    implied.die()
    for one, other in ((engine, f"graves-of-{_run}"), (implied, f"{implied.queue}-dlq")):
        listed = make_caller("read", prefix=one.queue).get("/v1/queues").document["queues"]
        assert {one.queue, other} <= {queue["name"] for queue in listed}


@pytest.mark.parametrize(
    "wanted", ["limit=0", "limit=1001", "limit=x", "cursor=%21", "cursor=", "cursor=AA", "tenant="]
)
def test_a_list_refuses_what_it_does_not_understand(caller: Caller, wanted: str) -> None:
    refused = caller.get(f"/v1/queues?{wanted}")

    assert (refused.status, refused.fields) == (422, [wanted.partition("=")[0]])


def test_a_queue_is_seen_with_its_numbers(caller: Caller, engine: Engine) -> None:
    engine.send("later", delay_seconds=3600)
    engine.die()
    for number in range(3):
        engine.send(number)
    engine.receive_one()
    seen = caller.get(f"/v1/queues/{engine.queue}").document

    assert seen["messages"] == {"ready": 2, "waiting": 0, "scheduled": 1, "leased": 1, "dead": 1}
    assert seen["oldestVisibleAgeSeconds"] >= 0
    graves = caller.get(f"/v1/queues/{engine.queue}-dlq").document
    assert (graves["isDeadLetterQueue"], graves["messages"]["dead"]) == (True, 1)


def test_settings_are_changed_and_others_stay(
    caller: Caller, observer: psycopg.Connection[Any], engine: Engine
) -> None:
    changed = caller.patch(f"/v1/queues/{engine.queue}", {"maxReceiveCount": 2, "paused": True})
    assert changed.status == 200
    assert (changed.document["maxReceiveCount"], changed.document["state"]) == (2, "paused")
    assert changed.document["defaultVisibilityTimeoutSeconds"] == 30
    assert caller.patch(f"/v1/queues/{engine.queue}", {"paused": False}).document["state"] == "active"

    rows = audit(observer, engine.queue)
    assert [row[1] for row in rows] == ["queue.create", "queue.configure", "queue.pause", "queue.resume"]
    assert rows[1][2] == {"changes": {"max_receives": {"before": 5, "after": 2}}}
    refused = caller.patch(f"/v1/queues/{engine.queue}", {"maxReceiveCount": 3, "jitter": 7})
    assert (refused.status, refused.fields) == (422, ["jitter"])
    assert caller.get(f"/v1/queues/{engine.queue}").document["maxReceiveCount"] == 2


def test_a_key_makes_queues_within_its_reach_only(make_caller: Callers, name: str) -> None:
    caller = make_caller("configure,read", tenant=f"tenant-{name}", prefix=f"{name}-")
    assert caller.post("/v1/queues", {"name": f"{name}-a"}).document["tenant"] == f"tenant-{name}"
    for wanted, field in (
        ({"name": f"other-{name}"}, "name"),
        ({"name": f"{name}-b", "tenant": "default"}, "tenant"),
        ({"name": f"{name}-c", "deadLetterQueue": "somebody-elses"}, "deadLetterQueue"),
    ):
        refused = caller.post("/v1/queues", wanted)
        assert (refused.status, refused.kind, refused.fields) == (403, "out-of-reach", [field])
    refused = caller.patch(f"/v1/queues/{name}-a", {"deadLetterQueue": "somebody-elses"})
    assert (refused.kind, refused.fields) == ("out-of-reach", ["deadLetterQueue"])
    assert [queue["name"] for queue in caller.get("/v1/queues").document["queues"]] == [f"{name}-a"]


def test_a_taken_name_tells_nothing_of_whose_it_is(make_caller: Callers, caller: Caller, name: str) -> None:
    caller.post("/v1/queues", {"name": name, "maxReceiveCount": 3})
    refused = make_caller(tenant=f"tenant-{name}").post("/v1/queues", {"name": name, "maxReceiveCount": 4})

    assert (refused.status, refused.kind, refused.fields) == (409, "queue-exists", ["name"])
    assert b"default" not in refused.content


def test_an_empty_queue_is_deleted(caller: Caller, observer: psycopg.Connection[Any], name: str) -> None:
    caller.post("/v1/queues", {"name": name})
    assert caller.delete(f"/v1/queues/{name}").status == 204

    assert caller.get(f"/v1/queues/{name}").kind == "queue-not-found"
    assert caller.delete(f"/v1/queues/{name}").kind == "queue-not-found"
    assert [row[1] for row in audit(observer, name)] == ["queue.create", "queue.close", "queue.delete"]
    assert caller.post("/v1/queues", {"name": name}).status == 201


def test_a_queue_with_messages_stays_and_says_how_many(caller: Caller, engine: Engine) -> None:
    engine.send(1)
    engine.send(2, delay_seconds=3600)
    refused = caller.delete(f"/v1/queues/{engine.queue}")

    assert (refused.status, refused.kind) == (409, "queue-in-use")
    assert refused.document["messages"] == {"ready": 1, "waiting": 0, "scheduled": 1, "leased": 0, "dead": 0}
    assert caller.post(f"/v1/queues/{engine.queue}/messages", {"body": 3}).status == 202


def test_a_queue_stays_while_its_purge_can_be_undone(caller: Caller, engine: Engine) -> None:
    engine.send(1)
    removal = engine.value("select signalbox.open_trash_batch(3600)")
    engine.value("select signalbox.purge(%s, null, array['ready'], 10, null, %s)", engine.queue, removal)
    Purge.objects.create(
        queue_name=engine.queue,
        trash_batch_id=removal,
        states=["ready"],
        through_message_id=0,
        through_dead_letter_id=0,
        created_by="ann",
        state=Purge.State.DONE,
    )
    refused = caller.delete(f"/v1/queues/{engine.queue}")

    assert (refused.status, refused.kind) == (409, "queue-in-use")
    assert "undone" in refused.document["uses"][0]
