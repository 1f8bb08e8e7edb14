"""Sending dead letters again over HTTP: the plan, the job's life, and who sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings

from console.access.api_keys import ALL, Key
from console.api.core.problems import Problem
from console.api.redrives import redriving
from console.api.redrives.reach import number_of
from console.api.redrives.shapes import NewRedrive
from dlq.jobs.models import Redrive
from dlq.masking import rules
from dlq.masking.rules import MaskingRule
from dlq.redrives import redrives
from queues.models import AuditEvent, Queue
from tests.console.api.callers import Answer, Caller
from tests.engine import Engine

MakeCaller = Callable[..., Caller]


def dlq_of(engine: Engine) -> str:
    return f"{engine.queue}-dlq"


def redrive(caller: Caller, engine: Engine, **wanted: Any) -> Answer:
    return caller.post(f"/v1/queues/{dlq_of(engine)}:redrive", wanted)


def job_of(answer: Answer) -> Redrive:
    assert answer.status in (200, 202), answer.content
    return Redrive.objects.get(pk=int(answer.document["redriveId"].removeprefix("redrive_")))


@pytest.fixture
def dead(engine: Engine) -> Engine:
    """A queue of which three messages died, of two causes."""
    for number in range(2):
        engine.die({"n": number}, error_class="TimeoutError", error="late")
    engine.die({"n": 2}, error_class="ValueError", error="wrong")
    return engine


def test_dead_letters_are_sent_again(caller: Caller, dead: Engine) -> None:
    answer = redrive(caller, dead, filter="class:TimeoutError", maxMessagesPerSecond=1000, reason="mended")

    assert answer.status == 202
    job = answer.document
    assert answer.headers["location"] == f"/v1/redrives/{job['redriveId']}"
    assert (job["state"], job["count"], job["countIsExact"], job["moved"]) == ("pending", 2, True, 0)
    assert (job["maxMessagesPerSecond"], job["queues"], job["targetQueue"]) == (1000, [dead.queue], None)
    row = job_of(answer)
    assert row.filter_text == f"class:TimeoutError queue:{dlq_of(dead)}"
    event = AuditEvent.objects.get(action="redrive.create", details__redrive_id=row.pk)
    assert event.actor == row.created_by == job["createdBy"]
    assert event.actor.startswith("key:api-test-")
    assert event.reason == "mended"

    redrives.run_in_foreground(row.pk)
    shown = caller.get(f"/v1/redrives/{job['redriveId']}").document
    assert (shown["state"], shown["moved"], shown["outcomes"]["open"]) == ("done", 2, 2)
    assert dead.counted() == dead.recounted() == (2, 0, 0, 1, 0)


def test_without_a_body_all_of_the_queue_and_nothing_of_others(
    caller: Caller, dead: Engine, make_engine: Callable[..., Engine]
) -> None:
    other = make_engine()
    other.die()

    answer = caller.post(f"/v1/queues/{dlq_of(dead)}:redrive")

    assert answer.document["count"] == 3
    redrives.run_in_foreground(job_of(answer).pk)
    assert Queue.objects.get(name=dlq_of(other)).dead_letters.count() == 1


def test_they_go_where_they_are_sent(caller: Caller, dead: Engine, make_engine: Callable[..., Engine]) -> None:
    target = make_engine()

    answer = redrive(caller, dead, targetQueue=target.queue, canary=2)

    assert (answer.document["targetQueue"], answer.document["canary"]) == (target.queue, 2)
    assert redrive(caller, dead, targetQueue="nowhere").kind == "queue-not-found"
    refused = redrive(caller, dead, targetQueue=dlq_of(dead))
    assert (refused.status, refused.fields) == (422, ["targetQueue"])


def test_a_canary_goes_first_unless_the_caller_turns_it_off(caller: Caller, dead: Engine) -> None:
    said = []
    for wanted in ({}, {"canary": None}, {"canary": 0}):
        answer = redrive(caller, dead, **wanted)
        said.append((answer.document["canary"], job_of(answer).choices.canary_per_group))

    assert said == [(10, True), (10, True), (None, False)]


@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        ({"maxMessagesPerSecond": 0}, ["maxMessagesPerSecond"]),
        ({"maxMessagesPerSecond": 5_001}, ["maxMessagesPerSecond"]),
        ({"maxMessagesPerSecond": "fast"}, ["maxMessagesPerSecond"]),
        ({"canary": -1}, ["canary"]),
        ({"filter": 7}, ["filter"]),
        ({"filter": "x" * 2_001}, ["filter"]),
        ({"sheep": 1}, ["sheep"]),
    ],
)
def test_a_mistake_names_its_field_and_plans_nothing(
    caller: Caller, dead: Engine, wanted: dict[str, Any], fields: list[str]
) -> None:
    refused = redrive(caller, dead, **wanted)

    assert (refused.status, refused.kind, refused.fields) == (422, "invalid-argument", fields)
    assert not AuditEvent.objects.filter(action="plan.create", queue_name=dead.queue).exists()


def test_a_mistake_in_the_filter_is_reported_with_its_position(caller: Caller, dead: Engine) -> None:
    refused = redrive(caller, dead, filter="class:TimeoutError helth:x")

    assert (refused.status, refused.fields) == (422, ["filter"])
    assert (refused.document["position"], refused.document["length"]) == (19, 5)
    assert "helth" in refused.document["detail"]


def test_a_filter_may_not_ask_for_what_is_masked(caller: Caller, dead: Engine) -> None:
    rule = rules.add(part="payload", path="card", queue=dead.queue, actor="ann")
    try:
        refused = redrive(caller, dead, filter="payload.card.number:411122223333")
    finally:
        MaskingRule.objects.filter(pk=rule.pk).delete()

    assert (refused.status, refused.fields) == (422, ["filter"])


def test_a_queue_without_dead_letters_says_so(caller: Caller, dead: Engine) -> None:
    assert caller.post(f"/v1/queues/{dead.queue}:redrive").kind == "no-dead-letter-queue"


def test_a_job_is_paused_resumed_slowed_and_cancelled(caller: Caller, dead: Engine) -> None:
    address = f"/v1/redrives/{redrive(caller, dead).document['redriveId']}"

    for _ in range(2):  # a client that lost the first answer asks again
        assert caller.post(f"{address}:pause").document["state"] == "paused"
    assert caller.patch(address, {"maxMessagesPerSecond": 7}).document["maxMessagesPerSecond"] == 7
    assert caller.patch(address, {"maxMessagesPerSecond": None}).document["maxMessagesPerSecond"] is None
    assert caller.patch(address, {}).fields == ["maxMessagesPerSecond"]
    assert caller.post(f"{address}:resume").document["state"] == "pending"
    assert caller.post(f"{address}:cancel").document["state"] == "cancelled"
    assert caller.post(f"{address}:cancel").status == 200
    for refused in (caller.post(f"{address}:pause"), caller.patch(address, {"maxMessagesPerSecond": 1})):
        assert (refused.status, refused.kind, refused.document["state"]) == (409, "wrong-state", "cancelled")
    actors = {event.actor for event in AuditEvent.objects.filter(details__redrive_id=int(address.split("_")[1]))}
    assert len(actors) == 1


def test_a_large_redrive_waits_for_a_second_person(commits: None, dead: Engine, settings: LazySettings) -> None:
    settings.APPROVAL_REDRIVE_MESSAGES = 1
    key = Key(1, "shop", frozenset({ALL}), None, "", None, None)

    job = redriving.start(key, dlq_of(dead), NewRedrive())

    assert (job["state"], job["needsApproval"], job["approvedBy"]) == ("awaiting", True, None)
    assert job["approvalExpiresAt"] is not None
    with pytest.raises(Problem, match="is awaiting approval: it cannot be paused"):
        redriving.change(key, number_of(job["redriveId"], redriving.NAME), "pause")


def test_what_names_no_job_is_not_found(caller: Caller) -> None:
    for name in ("redrive_999999999", "redrive_x", "12", "purge_1"):
        assert caller.get(f"/v1/redrives/{name}").kind == "job-not-found"
    assert caller.post("/v1/redrives/redrive_999999999:pause").kind == "job-not-found"


def test_redrives_are_listed_page_by_page(caller: Caller, dead: Engine) -> None:
    names = [redrive(caller, dead).document["redriveId"] for _ in range(3)]
    address = f"/v1/redrives?queue={dlq_of(dead)}&limit=2"

    page = caller.get(address).document
    assert [one["redriveId"] for one in page["redrives"]] == [names[2], names[1]]
    rest = []
    while page["nextCursor"] is not None:  # pages may be short, where others made many redrives
        page = caller.get(f"{address}&cursor={page['nextCursor']}").document
        rest += [one["redriveId"] for one in page["redrives"]]

    assert rest == [names[0]]
    assert caller.get(f"/v1/redrives?queue={dead.queue}").document["redrives"] != []
    assert caller.get(f"/v1/redrives?queue={dead.queue}&state=done").document["redrives"] == []


@pytest.mark.parametrize(
    ("query", "field"), [("limit=0", "limit"), ("limit=101", "limit"), ("cursor=x", "cursor"), ("state=x", "state")]
)
def test_a_mistake_in_the_query_names_its_field(caller: Caller, query: str, field: str) -> None:
    refused = caller.get(f"/v1/redrives?{query}")

    assert (refused.status, refused.fields) == (422, [field])


def test_a_key_with_a_prefix_sends_again_only_what_died_within_it(
    caller: Caller, make_caller: MakeCaller, dead: Engine, make_engine: Callable[..., Engine]
) -> None:
    """Make two queues with one dead-letter queue."""
    other = make_engine(dead_letter_queue=dlq_of(dead))
    other.die()
    within = make_caller(prefix=dead.queue)

    answer = redrive(within, dead)

    assert (answer.document["count"], answer.document["queues"]) == (3, [dead.queue])
    everything = redrive(caller, dead)
    assert everything.document["count"] == 4
    mine, all_of_it = (one.document["redriveId"] for one in (answer, everything))
    assert within.get(f"/v1/redrives/{mine}").status == 200
    assert within.get(f"/v1/redrives/{all_of_it}").kind == "job-not-found"
    assert [one["redriveId"] for one in within.get("/v1/redrives").document["redrives"]] == [mine]
    assert redrive(within, dead, targetQueue=other.queue).kind == "queue-not-found"
    beside = make_caller(prefix=other.queue)
    assert beside.get(f"/v1/redrives/{mine}").kind == "job-not-found"
    assert redrive(beside, dead).document["queues"] == [other.queue]


def test_redrives_of_another_tenant_do_not_exist(caller: Caller, make_caller: MakeCaller, dead: Engine) -> None:
    job = redrive(caller, dead).document["redriveId"]
    foreign = make_caller(tenant="another-tenant")

    assert foreign.get(f"/v1/redrives/{job}").kind == "job-not-found"
    assert foreign.post(f"/v1/redrives/{job}:cancel").kind == "job-not-found"
    assert foreign.get("/v1/redrives").document["redrives"] == []
    assert redrive(foreign, dead).kind == "queue-not-found"
    assert job_of(caller.get(f"/v1/redrives/{job}")).state == "pending"


def test_looking_through_many_redrives_asks_for_each_queue_once(
    commits: None, dead: Engine, django_assert_max_num_queries: Any
) -> None:
    everybody = Key(1, "shop", frozenset({ALL}), None, "", None, None)
    within = Key(2, "shop", frozenset({ALL}), "default", dead.queue, None, None)
    for _ in range(5):
        redriving.start(everybody, dlq_of(dead), NewRedrive())

    with django_assert_max_num_queries(8):
        page = redriving.browse(within, None, None, 5, None)

    assert len(page["redrives"]) == 5
