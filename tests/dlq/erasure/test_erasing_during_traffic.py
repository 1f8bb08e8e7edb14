"""Erasure during traffic: waiting, leased, failing and new messages are all erased, and none returns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from dlq.erasure import erasures, report
from dlq.jobs.runner import Ending
from queues import bulk_verbs
from queues.bodies import StoredBodies, store
from tests.dlq.erasure.erased import Connect, erase, finished, has_begun, kept, logged, marker, of, rests, stands_at
from tests.dlq.erasure.erased import no_archive as no_archive
from tests.dlq.erasure.erased import person as person
from tests.dlq.erasure.whole_samples import whole_samples as whole_samples
from tests.engine import Engine
from tests.races.sessions import until
from tests.streams import make_log

pytestmark = pytest.mark.usefixtures("commits", "whole_samples")


def test_pending_messages_are_held_by_default(engine: Engine, person: str) -> None:
    ready, delayed = engine.send(of(person)), engine.send(of(person), delay_seconds=600)

    job = erase(person)

    assert (job.state, job.became, job.states) == ("done", {"held": 2}, {"pending": 2})
    assert [logged(engine, one)[0] for one in (ready, delayed)] == [of(person)] * 2
    assert "2 messages wait to be processed and were not changed" in report.not_done(job)[0]
    assert engine.receive_one()[3] == of(person)


def test_what_waits_is_redacted(make_engine: Callable[..., Engine], person: str) -> None:
    engine = make_engine(mode="fifo", group_max_in_flight=1)
    for n in range(3):
        engine.send(of(person, n=n), group_id="g")
    engine.send(of("another person"), group_id="h")

    job = erase(person, live="redact", queues=[engine.queue])

    assert (job.became, job.states) == ({"erased": 3}, {"pending": 3})
    got = []
    for _ in range(4):
        row = engine.receive_one()
        got.append(row[3])
        engine.ack(row[1])
    assert sorted(got, key=str) == sorted([marker(job)] * 3 + [of("another person")], key=str)
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_what_waits_is_deleted_and_counted_as_purged(make_engine: Callable[..., Engine], person: str) -> None:
    engine = make_engine(group_max_in_flight=1)
    ids = [engine.send(of(person), group_id="g") for _ in range(3)]
    ids.append(engine.send(of(person), delay_seconds=600))
    others = engine.send(of("another person"), group_id="g")

    job = erase(person, live="delete")

    assert job.became == {"deleted": 4}
    assert (engine.counted(), engine.waiting()) == (engine.recounted(), 1)
    assert [engine.value("select outcome from signalbox.message_outcome(%s)", one) for one in ids] == ["purged"] * 4
    assert [logged(engine, one)[0] for one in ids] == [marker(job)] * 4
    assert engine.receive_one()[0] == others
    assert kept(engine, person) == {}


@pytest.mark.parametrize("live", ["hold", "redact", "delete"])
@pytest.mark.parametrize("end", ["acked", "dead", "again"])
def test_what_is_in_work_is_done_when_it_ends(engine: Engine, person: str, live: str, end: str) -> None:
    message_id = engine.send(of(person))
    handle = engine.receive_one()[1]
    job = erase(person, live=live, to_the_end=False)
    assert rests(job)
    assert (job.became, "1 messages are in flight" in job.note) == ({"in_work": 1}, True)
    assert logged(engine, message_id)[0] == of(person)

    if end == "acked":
        engine.ack(handle)
    else:
        engine.nack(handle, error=f"no {person}", **({"reason": "rejected"} if end == "dead" else {"delay_seconds": 0}))
    job = finished(job)

    became = {
        "acked": "erased",
        "dead": "erased",
        "again": {"hold": "held", "redact": "erased", "delete": "deleted"}[live],
    }
    assert {name: n for name, n in job.became.items() if n} == {became[end]: 1}
    assert bool(kept(engine, person)) == (end == "again" and live == "hold")
    assert engine.counted() == engine.recounted()


@pytest.mark.parametrize("place", ["log", "bodies"])
def test_a_store_that_is_away_is_waited_for(
    engine: Engine, person: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.dumps(of(person, padding="z" * 300_000)).encode()
    sha256 = hashlib.sha256(content).digest()
    store().put(sha256.hex(), content)
    engine.value("select signalbox.claim_body(%s, %s)", sha256, len(content))
    engine.value("select signalbox.send(%s, 'null', body_sha256 => %s)", engine.queue, sha256)
    engine.ack(engine.receive_one()[1])
    job = erase(person, to_the_end=False)
    until(lambda: stands_at(job, place), place)

    def away(*_: Any) -> Any:
        raise OSError("the network is down")

    with monkeypatch.context() as patched:
        for verb in ("open", "delete"):
            patched.setattr(StoredBodies, verb, away)
        assert erasures.run_slice(job.pk) is Ending.RESTS
    job.refresh_from_db()
    assert (job.place, "store of large bodies" in job.note, job.value) == (place, True, person)

    finished(job)
    assert (job.state, job.became, job.places["bodies"]["removed"]) == ("done", {"erased": 1}, 1)
    assert not store().exists(sha256.hex())


def test_what_is_sent_later_is_not_touched(engine: Engine, person: str) -> None:
    engine.send(of(person))
    job = erase(person, live="redact", to_the_end=False)
    until(lambda: has_begun(job), "its first place")
    later = engine.send(of(person))

    finished(job)

    assert logged(engine, later)[0] == of(person)


def test_what_dies_while_it_is_looked_at_is_not_brought_back(
    engine: Engine, connect: Connect, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consumer claims and rejects it between the first look and its commit: he has copied the clear payload."""
    message_id = engine.send(of(person))
    consumer = engine.on(connect(autocommit=False))
    really = bulk_verbs.erase_messages

    def erase_messages(erasure_id: int, ids: Any, *more: Any) -> list[Any]:
        found = really(erasure_id, ids, *more)
        if message_id in ids and consumer.connection.info.transaction_status == 0:
            consumer.nack(consumer.receive_one()[1], reason="rejected", error="no")
        return found

    monkeypatch.setattr(bulk_verbs, "erase_messages", erase_messages)
    job = erase(person, live="redact", to_the_end=False)
    until(lambda: stands_at(job, "again"), "the second look")
    monkeypatch.setattr(bulk_verbs, "erase_messages", really)
    for _ in range(5):
        assert erasures.run_slice(job.pk) is Ending.RESTS
    consumer.connection.commit()

    job = finished(job)

    assert job.became == {"erased": 1}
    assert engine.value("select payload from signalbox.dead_letter where message_id = %s", message_id) == marker(job)
    assert kept(engine, person) == {}


def test_what_a_consumer_of_the_dead_makes_a_message_of_is_found(engine: Engine, connect: Connect, person: str) -> None:
    """The message continues under another id, which is drawn after the erasure has begun."""
    for _ in range(2):
        engine.die(of(person))
    name = engine.value("select name from signalbox.queue where name = %s", f"{engine.queue}-dlq")
    consumer = engine.on(connect(autocommit=False))
    consumer.queue = engine.queue = name
    job = erase(person, to_the_end=False)
    until(lambda: stands_at(job, "dead"), "the beginning of the dead")

    engine.ack(engine.receive_one()[1])
    consumer.ack(consumer.receive_one()[1])
    until(lambda: stands_at(job, "copies"), "the end of the dead")
    for _ in range(3):
        assert erasures.run_slice(job.pk) is Ending.RESTS
    consumer.connection.commit()

    finished(job)
    assert kept(engine, person) == {}


def test_messages_of_a_concurrent_subscription_are_found(engine: Engine, person: str) -> None:
    log = make_log(engine.connection, partitions=1)
    log.append(of(person))
    log.group("mail", "beginning", queue=engine.queue)
    job = erase(person, live="redact", to_the_end=False)
    until(lambda: stands_at(job, "streams"), "the beginning of the streams")

    log.value("select signalbox.feed_queues()")

    assert finished(job).became == {"erased": 1}
    assert engine.receive_one()[3] == marker(job)


def test_the_sample_of_what_fails_while_it_is_waited_for_goes_too(engine: Engine, person: str) -> None:
    engine.send(of(person))
    handle = engine.receive_one()[1]
    job = erase(person, to_the_end=False)
    assert rests(job)
    engine.nack(handle, reason="rejected", error_class=f"Late{engine.queue_id}", error=f"no {person} here")
    engine.value("select signalbox.aggregate_failure_groups()")

    again = finished(job).places["causes_again"]
    assert again["found"] == again["erased"] >= 1  # aggregated rows stay for a while where they were counted first, too

    assert engine.rows(
        "select c.error from signalbox.failure_cluster c join signalbox.failure_cluster_queue q using (fingerprint)"
        " where q.queue_id = %s",
        engine.queue_id,
    ) == [(json.dumps(marker(job)),)]
