"""Requests that are repeated with an Idempotency-Key have one effect, and one answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from console.api.core.idempotency import Claim
from tests.console.api.callers import Answer, Caller
from tests.engine import Engine
from tests.races.sessions import finish, start, until

Connection = psycopg.Connection[Any]


@pytest.fixture
def key() -> str:
    return str(uuid.uuid4())


def send(caller: Caller, engine: Engine, key: str, body: Any = 1, **said: Any) -> Answer:
    return caller.post(f"/v1/queues/{engine.queue}/messages", {"body": body, **said}, Idempotency_Key=key)


def rows(observer: Connection, key: str) -> int:
    found = observer.execute(
        "select count(*) from signalbox.idempotent_request where idempotency_key = %s", [key]
    ).fetchone()
    return int(found[0]) if found else 0


def test_a_repetition_is_answered_as_the_first_was(caller: Caller, engine: Engine, key: str) -> None:
    first, again = send(caller, engine, key), send(caller, engine, key)

    assert (first.status, first.content) == (again.status, again.content)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert engine.counted() == engine.recounted() == (1, 0, 0, 0, 0)


def test_another_body_or_address_is_refused(caller: Caller, engine: Engine, make_engine: Any, key: str) -> None:
    send(caller, engine, key)
    for refused in (send(caller, engine, key, body=2), send(caller, make_engine(), key)):
        assert (refused.status, refused.kind) == (422, "idempotency-key-reused")
        assert refused.fields == ["Idempotency-Key"]
    assert engine.recounted()[0] == 1


def test_keys_of_different_callers_are_different(
    make_caller: Callable[..., Caller], engine: Engine, observer: Connection, key: str
) -> None:
    assert send(make_caller(), engine, key).document != send(make_caller(), engine, key).document
    assert rows(observer, key) == 2


def test_a_batch_answers_the_same_for_each_message(caller: Caller, make_engine: Any, key: str) -> None:
    engine = make_engine(max_payload_bytes=10)
    batch = {"messages": [{"body": 1}, {"body": "x" * 20}, {"body": 3}]}
    answers = [caller.post(f"/v1/queues/{engine.queue}/messages:batch", batch, Idempotency_Key=key) for _ in range(3)]

    assert len({answer.content for answer in answers}) == 1
    assert [one["status"] for one in answers[0].document["results"]] == ["accepted", "rejected", "accepted"]
    assert engine.recounted()[0] == 2


def test_a_queue_and_a_redrive_are_made_once(caller: Caller, engine: Engine, key: str) -> None:
    made = [caller.post("/v1/queues", {"name": f"{engine.queue}-x"}, Idempotency_Key=key) for _ in range(2)]
    assert [answer.status for answer in made] == [201, 201]
    assert made[0].content == made[1].content

    engine.die()
    path = f"/v1/queues/{engine.queue}-dlq:redrive"
    jobs = [caller.post(path, {}, Idempotency_Key=f"{key}-2") for _ in range(2)]
    assert [answer.status for answer in jobs] == [202, 202]
    assert jobs[0].content == jobs[1].content
    assert jobs[0].headers["location"] == jobs[1].headers["location"]
    listed = caller.get(f"/v1/redrives?queue={engine.queue}").document["redrives"]
    assert len(listed) == 1


def test_a_refusal_leaves_nothing_and_may_be_tried_again(
    caller: Caller, make_engine: Any, observer: Connection, key: str
) -> None:
    engine = make_engine(closed=True)
    assert send(caller, engine, key).kind == "queue-closed"
    assert rows(observer, key) == 0
    caller.patch(f"/v1/queues/{engine.queue}", {"closed": False})
    assert send(caller, engine, key).status == 202
    assert rows(observer, key) == 1


def test_a_repeated_key_is_refused_while_its_request_runs(
    caller: Caller, make_engine: Any, connect: Callable[..., Connection], key: str
) -> None:
    """The first request waits for its turn in a FIFO group that is in flight elsewhere."""
    engine = make_engine(mode="fifo")
    holder = engine.on(connect(autocommit=False))
    holder.send("before", group_id="g")
    first = start(send, caller, engine, key, messageGroupId="g")
    waiting = "select from pg_stat_activity where application_name = 'signalbox api' and wait_event = 'advisory'"
    until(lambda: engine.rows(waiting), "the first request waiting for its turn")
    refused = send(caller, engine, key, messageGroupId="g")
    assert (refused.status, refused.kind) == (409, "request-in-progress")
    assert refused.headers["retry-after"] == "1"
    holder.connection.commit()

    assert finish(first).content == send(caller, engine, key, messageGroupId="g").content
    assert engine.waiting() == 2


def test_many_at_once_have_one_effect(caller: Caller, engine: Engine, key: str) -> None:
    def until_answered(_: int) -> Answer:
        return until(lambda: (a := send(caller, engine, key)).status == 202 and a, "an answer")  # type: ignore[return-value]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(until_answered, range(16)))

    assert len({answer.content for answer in answers}) == 1
    assert engine.counted() == engine.recounted() == (1, 0, 0, 0, 0)


def test_a_day_later_the_key_is_free_and_old_rows_go(
    caller: Caller, engine: Engine, observer: Connection, key: str
) -> None:
    for number in range(4):
        send(caller, engine, f"{key}-{number}")
    observer.execute(
        "update signalbox.idempotent_request set created_at = created_at - interval '25 hours'"
        " where idempotency_key like %s",
        [f"{key}-%"],
    )
    anew = send(caller, engine, f"{key}-0", body="another")
    assert (anew.status, "idempotency-replayed" in anew.headers) == (202, False)
    left = (
        "select count(*) from signalbox.idempotent_request"
        " where idempotency_key like %s and created_at < now() - interval '1 day'"
    )
    assert observer.execute(left, [f"{key}-%"]).fetchone() == (1,)
    for number in range(3):
        send(caller, engine, f"{key}-new-{number}")
    assert observer.execute(left, [f"{key}-%"]).fetchone() == (0,)


@pytest.mark.parametrize("bad", ["", "x" * 256, "ünïcode", "a\tb"])
def test_a_key_that_is_none_is_refused(caller: Caller, engine: Engine, bad: str) -> None:
    content, kind = b'{"body": 1}', {"content-type": "application/json"}
    path = f"/v1/queues/{engine.queue}/messages"
    refused = caller.send("POST", path, content, {**kind, "idempotency-key": bad})

    assert (refused.status, refused.fields) == (422, ["Idempotency-Key"])
    assert engine.recounted()[0] == 0


def test_the_lock_is_a_bigint_that_differs_by_key() -> None:
    locks = {Claim(1, str(number), b"").named["lock"] for number in range(1000)}
    assert len(locks) == 1000
    assert all(-(2**63) <= lock < 2**63 for lock in locks)
