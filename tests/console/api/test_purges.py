"""Purging over HTTP: a plan, then just what it showed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings

from console.access.api_keys import ALL, Key
from console.api.purges import purging
from console.api.purges.shapes import NewPurge
from dlq.jobs.models import Purge
from dlq.trash import purges
from queues.models import AuditEvent
from tests.console.api.callers import Answer, Caller
from tests.engine import Engine


def plan(caller: Caller, engine: Engine, **wanted: Any) -> Answer:
    return caller.post(f"/v1/queues/{engine.queue}:purge-plan", wanted)


def purged(caller: Caller, engine: Engine, seen: Answer, **otherwise: Any) -> Answer:
    told = {name: seen.document[name] for name in ("states", "count", "throughMessageId", "throughDeadLetterId")}
    return caller.post(f"/v1/queues/{engine.queue}:purge", told | otherwise)


def test_what_was_looked_at_is_removed_and_what_came_later_stays(caller: Caller, engine: Engine) -> None:
    engine.send("old")
    engine.send("resting", delay_seconds=600)
    seen = plan(caller, engine)
    assert seen.status == 200
    assert (seen.document["count"], seen.document["counts"]) == (2, {"ready": 1, "scheduled": 1, "leased": 0})

    answer = purged(caller, engine, seen, reason="wrong data")

    assert answer.status == 202
    job = answer.document
    assert answer.headers["location"] == f"/v1/purges/{job['purgeId']}"
    assert (job["state"], job["count"], job["purged"], job["reason"]) == ("pending", 2, 0, "wrong data")
    later = engine.send("new")
    row = Purge.objects.get(pk=int(job["purgeId"].removeprefix("purge_")))
    purges.run_in_foreground(row.pk)
    assert caller.get(answer.headers["location"]).document["purged"] == 2
    assert [row[0] for row in engine.receive(10)] == [later]
    event = AuditEvent.objects.get(action="purge.create", details__purge_id=row.pk)
    assert event.actor == job["createdBy"] == row.created_by
    assert event.actor.startswith("key:")


def test_a_plan_of_one_state(caller: Caller, engine: Engine) -> None:
    engine.send("ready")
    engine.send("resting", delay_seconds=600)

    assert plan(caller, engine, states=["scheduled"]).document["counts"] == {"scheduled": 1}


def test_more_than_was_looked_at_is_not_removed(caller: Caller, engine: Engine) -> None:
    engine.send()
    seen = plan(caller, engine)
    engine.send()

    refused = purged(caller, engine, seen)

    assert (refused.status, refused.kind) == (409, "purge-outdated")
    assert (refused.document["limit"], refused.document["actual"]) == (1, 2)
    assert not Purge.objects.filter(queue_name=engine.queue).exists()
    assert purged(caller, engine, plan(caller, engine)).status == 202


@pytest.mark.usefixtures("commits")
def test_a_large_purge_waits_for_a_second_person(engine: Engine, settings: LazySettings) -> None:
    engine.send()
    engine.send()
    settings.APPROVAL_DELETE_MESSAGES = 1
    key = Key(1, "shop", frozenset({ALL}), None, "", None, None)
    seen = purging.plan(key, engine.queue, ["ready"])
    told = {name: seen[name] for name in ("states", "count", "throughMessageId")}

    job = purging.start(key, engine.queue, NewPurge.model_validate(told))

    assert seen["needsApproval"]
    assert (job["state"], job["needsApproval"], job["approvedBy"]) == ("awaiting", True, None)
    assert job["approvalExpiresAt"] is not None


@pytest.mark.usefixtures("commits")
@pytest.mark.parametrize(("scopes", "state"), [({"purge"}, "awaiting"), ({"purge", "purge_any"}, "pending")])
def test_a_key_purges_up_to_the_limit_of_an_operator(
    engine: Engine, settings: LazySettings, scopes: set[str], state: str
) -> None:
    engine.send()
    engine.send()
    settings.APPROVAL_OPERATOR_MESSAGES = 1
    key = Key(1, "shop", frozenset(scopes), None, "", None, None)
    seen = purging.plan(key, engine.queue, ["ready"])
    told = {name: seen[name] for name in ("states", "count", "throughMessageId")}

    job = purging.start(key, engine.queue, NewPurge.model_validate(told))

    assert seen["needsApproval"] == job["needsApproval"] == (state == "awaiting")
    assert job["state"] == state


@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        ({"states": []}, ["states"]),
        ({"states": ["flying"]}, ["states"]),
        ({"states": ["dead"]}, ["states"]),
        ({"throughMessageId": "12"}, ["throughMessageId"]),
        ({"count": -1}, ["count"]),
        ({"count": None}, ["count"]),
    ],
)
def test_a_mistake_names_its_field_and_removes_nothing(
    caller: Caller, engine: Engine, wanted: dict[str, Any], fields: list[str]
) -> None:
    engine.send()

    refused = purged(caller, engine, plan(caller, engine), **wanted)

    assert (refused.status, refused.fields) == (422, fields)
    assert not Purge.objects.filter(queue_name=engine.queue).exists()


def test_dead_letters_are_purged_where_they_are_kept(caller: Caller, engine: Engine) -> None:
    engine.die()
    kept = Engine(engine.connection, f"{engine.queue}-dlq", 0)
    seen = plan(caller, kept, states=["dead"])
    assert seen.document["count"] == 1
    assert purged(caller, kept, seen, throughDeadLetterId=0).fields == ["throughDeadLetterId"]

    answer = purged(caller, kept, seen)

    row = purges.run_in_foreground(int(answer.document["purgeId"].removeprefix("purge_")))
    assert (row.state, row.purged) == ("done", 1)


def test_a_purge_is_cancelled(caller: Caller, engine: Engine) -> None:
    engine.send()
    address = purged(caller, engine, plan(caller, engine)).headers["location"]

    for _ in range(2):
        assert caller.post(f"{address}:cancel").document["state"] == "cancelled"
    engine_purge = purged(caller, engine, plan(caller, engine)).headers["location"]
    purges.run_in_foreground(int(engine_purge.rpartition("_")[2]))
    assert caller.post(f"{engine_purge}:cancel").kind == "wrong-state"


def test_purges_of_others_do_not_exist(caller: Caller, make_caller: Callable[..., Caller], engine: Engine) -> None:
    address = purged(caller, engine, plan(caller, engine)).headers["location"]

    for foreign in (make_caller(tenant="another-tenant"), make_caller(prefix="another-")):
        assert foreign.get(address).kind == "job-not-found"
        assert foreign.post(f"{address}:cancel").kind == "job-not-found"
        assert plan(foreign, engine).kind == "queue-not-found"
    assert caller.get("/v1/purges/purge_x").kind == "job-not-found"


def test_a_key_with_a_prefix_purges_no_dead_letters_of_others(
    make_caller: Callable[..., Caller], engine: Engine, make_engine: Callable[..., Engine]
) -> None:
    engine.die()
    make_engine(dead_letter_queue=f"{engine.queue}-dlq").die()
    kept = Engine(engine.connection, f"{engine.queue}-dlq", 0)

    assert plan(make_caller(prefix=engine.queue), kept, states=["dead"]).kind == "not-reached"
