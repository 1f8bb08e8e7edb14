"""Erasing one person's data: found wherever payloads are kept; a marker, the ids and the numbers are left."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from dlq import deletions, plans, redrives, verbs
from dlq.erasing import elsewhere, erasures, report
from dlq.erasing.erasures import Wanted
from dlq.models import Erasure
from dlq.runner import Ending
from queues.bodies import StoredBodies, store
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from tests.dlq.stagings import planned, stage
from tests.dlq.whole_samples import whole_samples as whole_samples
from tests.engine import Engine
from tests.races.sessions import until
from tests.streams import make_log

pytestmark = pytest.mark.usefixtures("commits", "whole_samples")
Connect = Callable[..., psycopg.Connection[Any]]
_people = itertools.count(1)


@pytest.fixture(autouse=True)
def no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests have left in one is none of these tests' business."""
    monkeypatch.setattr(elsewhere, "_places", {})


@pytest.fixture
def person(engine: Engine) -> str:
    """Somebody of whom no other test has anything."""
    return f"person {engine.queue} {next(_people)}"


def of(person: str, **more: Any) -> dict[str, Any]:
    return {"customer": {"id": person}, **more}


def erase(person: str, *, to_the_end: bool = True, **how: Any) -> Erasure:
    job = erasures.create(
        Wanted(path="customer.id", value=person, **({"rows_per_second": 1_000_000} | how)),
        actor="ann",
        reason="request 7",
        confirmation="erase",
    )
    return finished(job) if to_the_end else job


def finished(job: Erasure) -> Erasure:
    """A transaction of another test's leftovers may be waited for; never for long."""

    def over() -> bool:
        erasures.run_slice(job.pk)
        job.refresh_from_db()
        return not job.is_active

    until(over, f"the end of {job}")
    return job


def marker(job: Erasure) -> dict[str, str]:
    return {"erased": str(job.pk)}


TABLES = [
    "message", "message_kept", "dead_letter", "trash", "rewritten", "failure", "message_state", "settled",
    "erasure_find", "erasure", "audit_event",
]  # fmt: skip
"""Where the engine keeps what messages carried, and what an erasure writes itself."""


def kept(engine: Engine, person: str) -> dict[str, int]:
    """In how many rows of which tables somebody can still be read."""
    counted = {
        table: engine.value(f"select count(*) from signalbox.{table} t where strpos(t::text, %s) > 0", person)
        for table in TABLES
    }
    return {table: rows for table, rows in counted.items() if rows}


def logged(engine: Engine, message_id: int) -> Any:
    return engine.rows("select payload, attributes from signalbox.message where message_id = %s", message_id)[0]


def test_history_is_redacted_and_its_numbers_stay(engine: Engine, person: str) -> None:
    mine = engine.send(of(person, n=1), attributes={"who": person}, deduplication_id="k")
    others = engine.send(of("somebody else"))
    for row in engine.receive(10):
        engine.ack(row[1])
    before = engine.rows("select * from signalbox.settled where queue_id = %s", engine.queue_id)

    job = erase(person)

    assert (job.state, job.found, job.became, job.states) == ("done", 1, {"erased": 1}, {"completed": 1})
    assert logged(engine, mine) == (marker(job), None)
    assert logged(engine, others)[0] == of("somebody else")
    assert engine.rows("select * from signalbox.settled where queue_id = %s", engine.queue_id) == before
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)
    assert kept(engine, person) == {}


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
        "select signalbox.delete_dead_letters(array[%s::bigint], signalbox.open_removal(3600))", [letter]
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
        "select signalbox.restore(%s)", [engine.value("select max(removal_id) from signalbox.trash")]
    )
    assert engine.value("select payload from signalbox.dead_letter where dead_letter_id = %s", letter) == marker(job)
    assert kept(engine, person) == {}


def test_what_waits_is_held_unless_told_otherwise(engine: Engine, person: str) -> None:
    ready, delayed = engine.send(of(person)), engine.send(of(person), delay_seconds=600)

    job = erase(person)

    assert (job.state, job.became, job.states) == ("done", {"held": 2}, {"pending": 2})
    assert [logged(engine, one)[0] for one in (ready, delayed)] == [of(person)] * 2
    assert "2 messages that wait to be processed were held back" in report.not_done(job)[0]
    assert engine.receive_one()[3] == of(person)


def test_what_waits_is_redacted(make_engine: Callable[..., Engine], person: str) -> None:
    engine = make_engine(mode="fifo", lane_max_in_flight=1)
    for n in range(3):
        engine.send(of(person, n=n), group_id="g")
    engine.send(of("somebody else"), group_id="h")

    job = erase(person, live="redact", queues=[engine.queue])

    assert (job.became, job.states) == ({"erased": 3}, {"pending": 3})
    got = []
    for _ in range(4):
        row = engine.receive_one()
        got.append(row[3])
        engine.ack(row[1])
    assert sorted(got, key=str) == sorted([marker(job)] * 3 + [of("somebody else")], key=str)
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_what_waits_is_deleted_and_counted_as_purged(make_engine: Callable[..., Engine], person: str) -> None:
    engine = make_engine(lane_max_in_flight=1)
    ids = [engine.send(of(person), group_id="g") for _ in range(3)]
    ids.append(engine.send(of(person), delay_seconds=600))
    others = engine.send(of("somebody else"), group_id="g")

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
    assert (job.became, "1 in work now" in job.note) == ({"in_work": 1}, True)
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


def rests(job: Erasure) -> bool:
    """Run it up to where it waits for consumers."""
    until(lambda: _at_rest(job), "the rest of the job")
    return True


def _at_rest(job: Erasure) -> bool:
    ending = erasures.run_slice(job.pk)
    job.refresh_from_db()
    return ending is Ending.RESTS and "in work" in job.note


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
    """The body that went on has nobody's name: only what was kept of the one before tells."""
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
    done, others = engine.send(of(person)), engine.send(of("somebody else"))
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


def test_a_body_that_others_point_to_stays_and_is_told(engine: Engine, person: str) -> None:
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


def test_what_is_sent_later_is_not_touched(engine: Engine, person: str) -> None:
    engine.send(of(person))
    job = erase(person, live="redact", to_the_end=False)
    until(lambda: has_begun(job), "its first place")
    later = engine.send(of(person))

    finished(job)

    assert logged(engine, later)[0] == of(person)


def has_begun(job: Erasure) -> bool:
    """Its bound is fixed behind the places from which new messages are sent."""
    return stands_at(job, "rewritten")


def stands_at(job: Erasure, place: str) -> bool:
    """After one more batch."""
    erasures.run_slice(job.pk, 0)
    job.refresh_from_db()
    return bool(job.place == place)


def test_what_dies_while_it_is_looked_at_is_not_brought_back(
    engine: Engine, connect: Connect, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consumer claims and rejects it between the first look and its commit: he has copied the clear payload."""
    message_id = engine.send(of(person))
    consumer = engine.on(connect(autocommit=False))
    really = verbs.erase_messages

    def erase_messages(erasure_id: int, ids: Any, *more: Any) -> list[Any]:
        found = really(erasure_id, ids, *more)
        if message_id in ids and consumer.connection.info.transaction_status == 0:
            consumer.nack(consumer.receive_one()[1], reason="rejected", error="no")
        return found

    monkeypatch.setattr(verbs, "erase_messages", erase_messages)
    job = erase(person, live="redact", to_the_end=False)
    until(lambda: stands_at(job, "again"), "the second look")
    monkeypatch.setattr(verbs, "erase_messages", really)
    for _ in range(5):
        assert erasures.run_slice(job.pk) is Ending.RESTS
    consumer.connection.commit()

    job = finished(job)

    assert job.became == {"erased": 1}
    assert engine.value("select payload from signalbox.dead_letter where message_id = %s", message_id) == marker(job)
    assert kept(engine, person) == {}


def test_what_a_consumer_of_the_dead_makes_a_message_of_is_found(engine: Engine, connect: Connect, person: str) -> None:
    """It goes on under another id, that is drawn when the erasure has begun."""
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


def test_what_a_subscription_sends_meanwhile_is_found(engine: Engine, person: str) -> None:
    log = make_log(engine.connection, partitions=1)
    log.append(of(person))
    log.group("mail", "beginning", queue=engine.queue)
    job = erase(person, live="redact", to_the_end=False)
    until(lambda: stands_at(job, "streams"), "the beginning of the streams")

    log.value("select signalbox.feed_queues()")

    assert finished(job).became == {"erased": 1}
    assert engine.receive_one()[3] == marker(job)


def test_a_count_changes_nothing_and_is_exact(engine: Engine, person: str) -> None:
    engine.die(of(person))
    engine.send(of(person))
    before = kept(engine, person)

    job = erasures.create(Wanted("customer.id", person), actor="ann", reason="first look", only_counts=True)
    finished(job)

    assert (job.states, job.became) == ({"pending": 1, "dead": 1}, {"counted": 2})
    assert (job.places["log"]["found"], job.places["dead"]["found"]) == (2, 1)
    assert kept(engine, person) == before


def test_a_preview_looks_at_every_place(engine: Engine, person: str) -> None:
    engine.send(of(person))
    engine.die(of(person))

    seen = erasures.preview(Wanted("customer.id", person, rows_per_second=10))

    found = {one.place: one.found for one in seen.samples}
    assert (found["dead"], found["trash"]) == (1, 0)
    assert seen.seconds == seen.rows / 10
    assert kept(engine, person)


def test_the_value_is_forgotten_and_in_no_audit(engine: Engine, person: str) -> None:
    engine.die(of(person))
    job = erase(person, to_the_end=False)
    assert Erasure.objects.get(pk=job.pk).value == person

    finished(job)

    events = AuditEvent.objects.filter(action__startswith="erasure.", details__erasure_id=job.pk).order_by("pk")
    assert [event.action for event in events] == ["erasure.create", "erasure.finish"]
    assert person not in json.dumps([event.details for event in events])
    assert events[1].details["became"] == {"erased": 1}
    assert Erasure.objects.get(pk=job.pk).value == ""
    assert person not in json.dumps(report.report(job))


@pytest.mark.parametrize("verb", ["cancel", "fail"])
def test_what_ends_early_forgets_the_value_too(
    engine: Engine, person: str, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = erase(person, to_the_end=False)

    if verb == "cancel":
        assert erasures.cancel(job.pk, actor="ann")
    else:
        Erasure.objects.filter(pk=job.pk).update(place="nowhere")
        assert erasures.run_slice(job.pk) is Ending.STOPPED

    job.refresh_from_db()
    assert (job.value, job.state) == ("", {"cancel": "cancelled", "fail": "failed"}[verb])


def test_a_pause_and_a_resume(engine: Engine, person: str) -> None:
    engine.die(of(person))
    job = erase(person, to_the_end=False)

    assert erasures.pause(job.pk, actor="ann")
    assert erasures.run_slice(job.pk) is Ending.TAKEN
    assert erasures.resume(job.pk, actor="ann")

    assert finished(job).became == {"erased": 1}


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"live": "burn"}, "live"),
        ({"queues": ["nowhere"]}, "queues"),
        ({"tenant": "nobody"}, "tenant"),
        ({"tenant": "default", "queues": ["q"]}, "tenant"),
        ({"rows_per_second": 0}, "rows_per_second"),
        ({"path": "a..b"}, "path"),
        ({"value": "null"}, "value"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(commits: None, how: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        erasures.create(Wanted(**({"path": "a", "value": "b"} | how)), actor="ann", reason="r", confirmation="erase")
    assert refused.value.field == field


@pytest.mark.parametrize(("given", "field"), [({"confirmation": "yes"}, "confirmation"), ({"reason": " "}, "reason")])
def test_it_asks_for_a_word_and_a_reason(commits: None, given: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        erasures.create(Wanted("a", "b"), actor="ann", **({"reason": "r", "confirmation": "erase"} | given))
    assert refused.value.field == field


def test_streams_are_searched_up_to_the_beginning(engine: Engine, person: str) -> None:
    log = make_log(engine.connection, partitions=2)
    for n in range(6):
        payload = of(person, n=n) if n % 2 else of("somebody else", n=n)
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
        (marker(job), None, f"k{n}") if n % 2 else (of("somebody else", n=n), {"n": n}, f"k{n}") for n in range(6)
    ] + [(of(person), None, "later")]


def test_streams_are_of_no_queue(engine: Engine, person: str) -> None:
    make_log(engine.connection, partitions=1).append(of(person))

    assert erase(person, queues=[engine.queue]).found == 0
    assert erase(person, tenant="default").places["streams"]["erased"] == 1


def test_what_is_staged_is_sent_as_a_marker(engine: Engine, person: str) -> None:
    plan = planned(engine, 2, payload=[json.dumps(of(person)), json.dumps(of("somebody else"))])

    job = erase(person)
    redrives.run_in_foreground(redrives.run(plan.pk, actor="ann", reason="again").pk)

    assert job.places["staged"]["erased"] == 1
    assert sorted((row[3] for row in engine.receive(10)), key=str) == [of("somebody else"), marker(job)]


def test_what_is_staged_of_a_queue_that_was_renamed_is_of_that_queue(engine: Engine, person: str) -> None:
    stage(1, queue=engine.queue, payload=json.dumps(of(person)))
    engine.value("select signalbox.rename_queue(%s, %s)", engine.queue, f"{engine.queue}-new")

    assert erase(person, queues=[f"{engine.queue}-new"]).places["staged"]["erased"] == 1


def test_the_sample_of_what_fails_while_it_is_waited_for_goes_too(engine: Engine, person: str) -> None:
    engine.send(of(person))
    handle = engine.receive_one()[1]
    job = erase(person, to_the_end=False)
    assert rests(job)
    engine.nack(handle, reason="rejected", error_class=f"Late{engine.queue_id}", error=f"no {person} here")
    engine.value("select signalbox.fold_clusters()")

    again = finished(job).places["causes_again"]
    assert again["found"] == again["erased"] >= 1  # what was folded lies for a while where it was counted first, too

    assert engine.rows(
        "select c.error from signalbox.failure_cluster c join signalbox.failure_cluster_queue q using (fingerprint)"
        " where q.queue_id = %s",
        engine.queue_id,
    ) == [(json.dumps(marker(job)),)]


@pytest.mark.parametrize("is_folded", [False, True])
def test_the_sample_of_a_cause_goes_and_does_not_come_back(engine: Engine, person: str, is_folded: bool) -> None:
    engine.die(of(person), error_class=f"Unknown{engine.queue_id}", error=f"no {person} here")
    if is_folded:
        engine.value("select signalbox.fold_clusters()")

    job = erase(person)
    engine.value("select signalbox.fold_clusters()")

    samples = engine.rows(
        "select c.error, c.deaths from signalbox.failure_cluster c join signalbox.failure_cluster_queue q"
        " using (fingerprint) where q.queue_id = %s",
        engine.queue_id,
    )
    assert samples == [(json.dumps(marker(job)), 1)]
    assert engine.value("select count(*) from signalbox.cluster_delta d where strpos(d.error, %s) > 0", person) == 0


def test_jobs_of_others_go_on_as_if_nothing_was(engine: Engine, person: str) -> None:
    """A redrive of what was erased sends the marker, a deletion puts it in the trash."""
    dead = [engine.die(of(person)) for _ in range(2)]
    job = erase(person)

    letters = engine.value(
        "select array_agg(message_id) from signalbox.dead_letter where dead_letter_id = any(%s)", dead
    )
    plan = plans.make(f"id:{letters[0]}", actor="ann", reason="again")
    redrives.run_in_foreground(redrives.run(plan.pk, actor="ann", reason="again").pk)
    bound = plans.preview(f"id:{letters[1]}").upper_bound
    deletions.run_in_foreground(deletions.create(f"id:{letters[1]}", bound, actor="ann", reason="away").pk)

    assert engine.receive_one()[3] == marker(job)
    assert engine.counted() == engine.recounted() == (0, 0, 1, 0, 0)


def test_after_a_restore_elsewhere_nothing_waits_for_ids_of_the_other_cluster(engine: Engine, connect: Connect) -> None:
    restoring = engine.on(connect(autocommit=False))
    restoring.connection.execute(
        "insert into signalbox.erasure_find (erasure_id, message_id, place, became, looked_in)"
        " values (1, 1, 'log', 'erased', '9000000000000')"
    )

    restoring.value("select signalbox._rebase_counters()")

    noted = (
        "select looked_in = pg_current_xact_id() from signalbox.erasure_find where (erasure_id, message_id) = (1, 1)"
    )
    assert restoring.value(noted) is True
    restoring.connection.rollback()
