"""Reading messages over HTTP without taking them: masked, page by page, within what the key reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dlq.masking import rules
from dlq.masking.masks import MASK
from dlq.masking.rules import MaskingRule
from tests.console.api.callers import Caller
from tests.engine import Engine


@pytest.fixture
def masked(engine: Engine) -> Iterator[Engine]:
    """A queue in which card numbers are masked."""
    rule = rules.add(part="payload", path="card.number", queue=engine.queue, actor="ann")
    yield engine
    MaskingRule.objects.filter(pk=rule.pk).delete()


def address(engine: Engine, query: str = "") -> str:
    return f"/v1/queues/{engine.queue}/messages?{query}"


def test_ready_messages_are_read_and_stay(caller: Caller, engine: Engine) -> None:
    sent = engine.send({"n": 1}, attributes={"region": "eu"}, group_id="g", deduplication_id="d")

    answer = caller.get(address(engine))

    assert answer.status == 200
    (message,) = answer.document["messages"]
    assert (message["messageId"], message["sequence"], message["state"]) == (f"msg_{sent}", sent, "ready")
    assert (message["body"], message["attributes"]) == ({"n": 1}, {"region": "eu"})
    assert (message["messageGroupId"], message["deduplicationKey"]) == ("g", "d")
    assert (message["receiveCount"], message["deadline"], message["death"]) == (0, None, None)
    assert engine.counted() == (1, 0, 0, 0, 0)


def test_each_state_has_its_own(caller: Caller, engine: Engine) -> None:
    engine.die("dead")
    leased = engine.send("leased")
    engine.receive_one(consumer="w1")
    ready, resting = engine.send("ready"), engine.send("scheduled", delay_seconds=600)

    for state, expected in (("ready", ready), ("scheduled", resting), ("leased", leased)):
        (found,) = caller.get(address(engine, f"state={state}")).document["messages"]
        assert (found["sequence"], found["state"], found["body"]) == (expected, state, state)
    assert caller.get(address(engine, "state=leased")).document["messages"][0]["consumer"] == "w1"


def test_dead_letters_come_with_their_death(caller: Caller, engine: Engine) -> None:
    engine.die({"n": 1}, error_class="TimeoutError", error="late", details="stack")

    (message,) = caller.get(f"/v1/queues/{engine.queue}-dlq/messages").document["messages"]

    assert (message["state"], message["body"]) == ("dead", {"n": 1})
    death = message["death"]
    assert (death["sourceQueue"], death["reason"]) == (engine.queue, "rejected")
    assert (death["errorClass"], death["error"], death["details"]) == ("TimeoutError", "late", "stack")
    refused = caller.get(address(engine, "state=dead"))
    assert (refused.status, refused.fields) == (422, ["state"])


@pytest.mark.parametrize("queue", ["", "-dlq"])
def test_pages_follow_each_other(caller: Caller, engine: Engine, queue: str) -> None:
    for number in range(5):
        engine.die(number) if queue else engine.send(number)
    path = f"/v1/queues/{engine.queue}{queue}/messages?limit=2"

    bodies, cursor = [], ""
    for _ in range(3):
        page = caller.get(path + cursor).document
        bodies += [one["body"] for one in page["messages"]]
        cursor = f"&cursor={page['nextCursor']}"

    assert bodies == [4, 3, 2, 1, 0]
    assert page["nextCursor"] is None


def test_what_is_masked_stays_masked(caller: Caller, masked: Engine) -> None:
    body = {"card": {"number": "411122223333-2222"}, "n": 1}
    masked.die(body, error_class="Refused", error="card 411122223333-2222 refused")
    masked.send(body)

    (ready,) = caller.get(address(masked)).document["messages"]
    (dead,) = caller.get(f"/v1/queues/{masked.queue}-dlq/messages").document["messages"]

    assert ready["body"] == dead["body"] == {"card": {"number": MASK}, "n": 1}
    assert dead["death"]["error"] == f"card {MASK} refused"
    for path in (address(masked), f"/v1/queues/{masked.queue}-dlq/messages?"):
        refused = caller.get(f"{path}&filter=payload.card.number:411122223333-2222")
        assert (refused.status, refused.fields) == (422, ["filter"])


def test_a_filter_selects(caller: Caller, engine: Engine) -> None:
    engine.send({"region": "eu"})
    engine.send({"region": "us"})

    found = caller.get(address(engine, "filter=payload.region:us")).document["messages"]

    assert [one["body"] for one in found] == [{"region": "us"}]
    refused = caller.get(address(engine, "filter=helth:x"))
    assert (refused.fields, refused.document["position"]) == (["filter"], 0)


@pytest.mark.parametrize(
    ("query", "field"),
    [("state=flying", "state"), ("limit=0", "limit"), ("limit=101", "limit"), ("cursor=1", "cursor")],
)
def test_a_mistake_in_the_query_names_its_field(caller: Caller, engine: Engine, query: str, field: str) -> None:
    refused = caller.get(address(engine, query))

    assert (refused.status, refused.fields) == (422, [field])


def test_a_large_body_is_named_and_not_read(caller: Caller, engine: Engine) -> None:
    digest = "ab" * 32
    engine.value("select signalbox.claim_body(decode(%s, 'hex'), 300000)", digest)
    engine.value("select signalbox.send(%s, 'null', body_sha256 => decode(%s, 'hex'))", engine.queue, digest)

    (message,) = caller.get(address(engine)).document["messages"]

    assert (message["body"], message["bodyBytes"], message["bodySha256"]) == (None, 300_000, digest)


def test_a_key_with_a_prefix_sees_what_died_within_it(
    make_caller: Callable[..., Caller], engine: Engine, make_engine: Callable[..., Engine]
) -> None:
    engine.die("mine")
    make_engine(dead_letter_queue=f"{engine.queue}-dlq").die("another's")

    page = make_caller(prefix=engine.queue).get(f"/v1/queues/{engine.queue}-dlq/messages").document

    assert [one["body"] for one in page["messages"]] == ["mine"]
