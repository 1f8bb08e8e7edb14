"""Erasing one person's data: found wherever payloads are kept; a marker, the ids and the numbers are left."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest
from psycopg.types.json import Jsonb

from dlq.erasure import report
from dlq.redrives import redrives
from queues.bodies import store
from tests.dlq.erasure.erased import erase, kept, logged, marker, of
from tests.dlq.erasure.erased import no_archive as no_archive
from tests.dlq.erasure.erased import person as person
from tests.dlq.erasure.whole_samples import whole_samples as whole_samples
from tests.dlq.redrives.stagings import planned, stage
from tests.engine import Engine
from tests.streams import make_log

pytestmark = pytest.mark.usefixtures("commits", "whole_samples")


def test_history_is_redacted_and_its_numbers_stay(engine: Engine, person: str) -> None:
    mine = engine.send(of(person, n=1), attributes={"who": person}, deduplication_id="k")
    others = engine.send(of("another person"))
    for row in engine.receive(10):
        engine.ack(row[1])
    before = engine.rows("select * from signalbox.settled where queue_id = %s", engine.queue_id)

    job = erase(person)

    assert (job.state, job.found, job.became, job.states) == ("done", 1, {"erased": 1}, {"completed": 1})
    assert logged(engine, mine) == (marker(job), None)
    assert logged(engine, others)[0] == of("another person")
    assert engine.rows("select * from signalbox.settled where queue_id = %s", engine.queue_id) == before
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)
    assert kept(engine, person) == {}


def test_segments_are_searched_before_upkeep_knows_them_and_to_their_last_id(engine: Engine, person: str) -> None:
    """A sender makes the segment that it needs, and messages may end before the next upkeep."""
    engine.value("select signalbox.ensure_partitions()")
    end = engine.value("select signalbox.publish_log_end()")
    engine.value("select setval('signalbox.message_id', %s)", end - 1)
    assert [engine.send(of(person)), engine.send(of(person))] == [end, end + 1]
    for row in engine.receive(10):
        engine.ack(row[1])

    job = erase(person)

    assert (job.found, job.became) == (2, {"erased": 2})
    assert [logged(engine, message_id) for message_id in (end, end + 1)] == [(marker(job), None)] * 2
    engine.value("select signalbox.ensure_partitions()")
    engine.value("select signalbox.publish_log_end()")


def test_a_dead_letter_loses_payload_error_and_stack(engine: Engine, person: str) -> None:
    letter = engine.die(
        of(person),
        error_class="KeyError",
        error=f"no {person}",
        details=f"Traceback\n {person}",
        state=Jsonb({"p": person}),
    )

    job = erase(person)

    row = engine.rows(
        "select payload, attributes, error, details, state, error_class, receive_count from signalbox.dead_letter"
        " where dead_letter_id = %s",
        letter,
    )[0]
    assert row == (marker(job), None, json.dumps(marker(job)), None, None, "KeyError", 1)
    assert engine.rows("select error, details from signalbox.failure where queue_id = %s", engine.queue_id) == [
        (json.dumps(marker(job)), None)
    ]
    assert engine.counted() == engine.recounted() == (0, 0, 0, 1, 0)


def test_the_trash_is_searched(engine: Engine, person: str) -> None:
    letter = engine.die(of(person))
    engine.connection.execute(
        "select signalbox.delete_dead_letters(array[%s::bigint], signalbox.open_trash_batch(3600))", [letter]
    )

    job = erase(person)

    [(letter_kept,)] = engine.rows("select letter from signalbox.trash where queue_id = %s", engine.queue_id)
    assert (letter_kept["payload"], letter_kept["dead_letter_id"], letter_kept["attributes"]) == (
        marker(job),
        letter,
        None,
    )
    assert job.places["trash"]["found"] == 1
    assert job.became == {"erased": 1}
    engine.connection.execute(
        "select signalbox.restore(%s)", [engine.value("select max(trash_batch_id) from signalbox.trash")]
    )
    assert engine.value("select payload from signalbox.dead_letter where dead_letter_id = %s", letter) == marker(job)
    assert kept(engine, person) == {}


def test_what_was_redriven_and_rewritten_is_found(engine: Engine, person: str) -> None:
    letter = engine.die(of(person))
    message_id = engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", letter)
    engine.rows(
        "select * from signalbox._redrive(array[%s::bigint], null, null, 'ann', %s)",
        letter,
        Jsonb({str(letter): of("anonymous")}),
    )
    engine.ack(engine.receive_one()[1])

    job = erase(person)

    assert job.places["rewritten"]["found"] == 1
    assert engine.value("select payload from signalbox.rewritten where message_id = %s", message_id) == marker(job)
    assert engine.value("select payload from signalbox.message_kept where message_id = %s", message_id) == marker(job)
    assert kept(engine, person) == {}


def test_what_was_rewritten_is_of_a_queue_and_of_the_time_of_its_message(
    make_engine: Callable[..., Engine], person: str
) -> None:
    """The new body names no person: only the kept earlier body does."""
    here, there = make_engine(), make_engine()
    for engine in (here, there):
        letter = engine.die(of(person))
        engine.rows(
            "select * from signalbox._redrive(array[%s::bigint], null, null, 'ann', %s)",
            letter,
            Jsonb({str(letter): of("anonymous")}),
        )
        sent_at = engine.value("select max(sent_at) from signalbox.message_kept where queue_id = %s", engine.queue_id)

    assert erase(person, queues=[there.queue], until=sent_at).found == 0
    job = erase(person, queues=[there.queue], since=sent_at, live="redact")

    assert (job.places["rewritten"]["found"], job.became) == (1, {"erased": 1})
    assert kept(here, person) == {"rewritten": 1}


def test_states_and_results_go_too(engine: Engine, person: str) -> None:
    done, others = engine.send(of(person)), engine.send(of("another person"))
    rows = engine.receive(2)
    results = [{"told": person} if row[0] == done else {"told": "else"} for row in rows]
    engine.rows("select * from signalbox.ack(%s, %s)", [row[1] for row in rows], [Jsonb(one) for one in results])
    engine.send(of(person, n=2))
    engine.nack(engine.receive_one()[1], state=Jsonb({"seen": person}), delay_seconds=600)

    job = erase(person, live="redact")

    assert engine.value("select result from signalbox.message_outcome(%s)", done) == marker(job)
    assert engine.value("select result from signalbox.message_outcome(%s)", others) == {"told": "else"}
    assert kept(engine, person) == {}


def test_a_large_body_is_read_and_removed(engine: Engine, person: str) -> None:
    content = json.dumps(of(person, padding="x" * 300_000)).encode()
    sha256 = hashlib.sha256(content).digest()
    store().put(sha256.hex(), content)
    engine.value("select signalbox.claim_body(%s, %s)", sha256, len(content))
    message_id = engine.value("select signalbox.send(%s, 'null', body_sha256 => %s)", engine.queue, sha256)
    engine.ack(engine.receive_one()[1])

    job = erase(person)

    assert (job.became, job.places["bodies"]["removed"]) == ({"erased": 1}, 1)
    assert not store().exists(sha256.hex())
    assert logged(engine, message_id)[0] == marker(job)
    assert engine.rows("select from signalbox.large_body where sha256 = %s", sha256) == []


def test_a_shared_body_stays_and_is_reported(engine: Engine, person: str) -> None:
    content = json.dumps(of(person, padding="y" * 300_000)).encode()
    sha256 = hashlib.sha256(content).digest()
    store().put(sha256.hex(), content)
    engine.value("select signalbox.claim_body(%s, %s)", sha256, len(content))
    for _ in range(2):
        engine.value("select signalbox.send(%s, 'null', body_sha256 => %s)", engine.queue, sha256)
    engine.ack(engine.receive_one()[1])

    job = erase(person)

    assert job.became == {"erased": 1, "held": 1}
    assert store().exists(sha256.hex())
    assert any("1 large bodies stay" in one for one in report.not_done(job))


def test_only_some_queues_or_a_time(make_engine: Callable[..., Engine], person: str) -> None:
    here, there = make_engine(), make_engine()
    for one in (here, there):
        one.die(of(person))
    moment = here.value("select clock_timestamp()")

    assert erase(person, queues=[here.queue], since=moment).found == 0
    assert erase(person, queues=[here.queue], until=moment).became == {"erased": 1}
    assert there.value("select payload from signalbox.dead_letter where source_queue_id = %s", there.queue_id) == of(
        person
    )
    assert erase(person, tenant="default").became == {"erased": 1}


def test_attributes_are_searched_when_asked(engine: Engine, person: str) -> None:
    message_id = engine.send({"order": 1}, attributes={"customer": {"id": person}})
    engine.ack(engine.receive_one()[1])

    job = erase(person, part="attributes")

    assert (job.became, logged(engine, message_id)) == ({"erased": 1}, (marker(job), None))


def test_streams_are_searched_up_to_the_beginning(engine: Engine, person: str) -> None:
    log = make_log(engine.connection, partitions=2)
    for n in range(6):
        payload = of(person, n=n) if n % 2 else of("another person", n=n)
        log.value("select signalbox.append(%s, %s, %s, %s)", log.name, Jsonb(payload), Jsonb({"n": n}), f"k{n}")

    job = erase(person)
    log.append(of(person), key="later")

    rows = engine.rows(
        "select payload, attributes, key from signalbox.stream_message where stream_id ="
        " (select stream_id from signalbox.stream where name = %s) order by key",
        log.name,
    )
    assert (job.places["streams"]["found"], job.places["streams"]["erased"]) == (3, 3)
    assert rows == [
        (marker(job), None, f"k{n}") if n % 2 else (of("another person", n=n), {"n": n}, f"k{n}") for n in range(6)
    ] + [(of(person), None, "later")]


def test_a_large_body_of_a_stream_and_of_the_queue_that_it_feeds_is_removed(engine: Engine, person: str) -> None:
    log = make_log(engine.connection, partitions=1)
    log.group("feed", "beginning", queue=engine.queue)
    contents = [json.dumps(of(who, of=log.name, padding="z" * 300_000)).encode() for who in (person, "another person")]
    hashes = [hashlib.sha256(content).digest() for content in contents]
    for content, sha256 in zip(contents, hashes, strict=True):
        store().put(sha256.hex(), content)
        log.value("select signalbox.claim_body(%s, %s)", sha256, len(content))
        log.rows(
            "select * from signalbox.append_batch_large(%s, array['null']::jsonb[], array[%s]::bytea[])",
            log.name,
            sha256,
        )
    log.value("select signalbox.feed_queues()")
    engine.ack(*[row[1] for row in engine.receive(2)])

    job = erase(person)

    assert (job.places["streams"]["erased"], job.became, job.places["bodies"]["removed"]) == (1, {"erased": 1}, 1)
    assert [store().exists(sha256.hex()) for sha256 in hashes] == [False, True]
    log.group()
    rows = log.rows("select payload, body is null from signalbox.read_stream_with_bodies(%s, 'g', 'm')", log.name)
    assert rows == [(marker(job), True), (None, False)]


def test_streams_are_of_no_queue(engine: Engine, person: str) -> None:
    make_log(engine.connection, partitions=1).append(of(person))

    assert erase(person, queues=[engine.queue]).found == 0
    assert erase(person, tenant="default").places["streams"]["erased"] == 1


def test_what_is_staged_is_sent_as_a_marker(engine: Engine, person: str) -> None:
    plan = planned(engine, 2, payload=[json.dumps(of(person)), json.dumps(of("another person"))])

    job = erase(person)
    redrives.run_in_foreground(redrives.run(plan.pk, actor="ann", reason="again").pk)

    assert job.places["staged"]["erased"] == 1
    assert sorted((row[3] for row in engine.receive(10)), key=str) == [of("another person"), marker(job)]


def test_what_is_staged_of_a_queue_that_was_renamed_is_of_that_queue(engine: Engine, person: str) -> None:
    stage(1, queue=engine.queue, payload=json.dumps(of(person)))
    engine.value("select signalbox.rename_queue(%s, %s)", engine.queue, f"{engine.queue}-new")

    assert erase(person, queues=[f"{engine.queue}-new"]).places["staged"]["erased"] == 1


@pytest.mark.parametrize("is_folded", [False, True])
def test_the_sample_of_a_cause_goes_and_does_not_come_back(engine: Engine, person: str, is_folded: bool) -> None:
    engine.die(of(person), error_class=f"Unknown{engine.queue_id}", error=f"no {person} here")
    if is_folded:
        engine.value("select signalbox.aggregate_failure_groups()")

    job = erase(person)
    engine.value("select signalbox.aggregate_failure_groups()")

    samples = engine.rows(
        "select c.error, c.deaths from signalbox.failure_cluster c join signalbox.failure_cluster_queue q"
        " using (fingerprint) where q.queue_id = %s",
        engine.queue_id,
    )
    assert samples == [(json.dumps(marker(job)), 1)]
    assert engine.value("select count(*) from signalbox.cluster_delta d where strpos(d.error, %s) > 0", person) == 0
