"""A message in the scope in_flight holds its deduplication id until it is settled, under any concurrency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.races.naive import NaiveVerbs
from tests.races.sessions import finish, start, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]


@pytest.fixture
def keyed(make_engine: MakeEngine) -> Engine:
    return make_engine(dedup_scope="in_flight")


def keys(engine: Engine) -> dict[str, int]:
    """The ids that are held, and by which message."""
    return dict(
        engine.rows(
            "select deduplication_id, message_id from signalbox.dedup_in_flight where queue_id = %s", engine.queue_id
        )
    )


def opened(engine: Engine, connect: Connect) -> Engine:
    session = engine.on(connect())
    session.connection.execute("begin")
    return session


# Holding and letting go


@pytest.mark.parametrize("many", [False, True], ids=["one ack", "acks of one claim"])
def test_an_ack_lets_go(keyed: Engine, many: bool) -> None:
    first = [keyed.send(number, deduplication_id=f"key {number}") for number in range(3 if many else 1)]
    assert keyed.send(0, deduplication_id="key 0") == first[0]
    handles = [row[1] for row in keyed.receive(3)]
    assert keyed.send(0, deduplication_id="key 0") == first[0]

    keyed.ack(*handles)

    assert keys(keyed) == {}
    assert keyed.send(0, deduplication_id="key 0") > first[-1]


def test_acks_of_several_claims_and_queues_let_go(keyed: Engine, engine: Engine) -> None:
    for number in range(3):
        keyed.send(number, deduplication_id=str(number))
    engine.send("without")
    handles = [keyed.receive_one()[1], engine.receive_one()[1], keyed.receive_one()[1]]

    assert keyed.ack(*handles) == [True] * 3

    assert list(keys(keyed)) == ["2"]


def test_a_handle_that_is_no_longer_held_lets_nothing_go(keyed: Engine) -> None:
    keyed.send("body", deduplication_id="key")
    spent = keyed.receive_one(visibility_timeout=0)[1]
    keyed.receive_one()

    assert keyed.ack(spent) == [False]
    assert list(keys(keyed)) == ["key"]


def test_a_retry_holds_on(keyed: Engine) -> None:
    first = keyed.send("body", deduplication_id="key")
    keyed.nack(keyed.receive_one()[1], delay_seconds=60)

    assert keyed.send("body", deduplication_id="key") == first


def test_death_lets_go(keyed: Engine) -> None:
    first = keyed.send("body", deduplication_id="key")
    keyed.nack(keyed.receive_one()[1], reason="rejected")

    assert keyed.send("body", deduplication_id="key") > first


def test_a_lease_that_runs_out_for_the_last_time_lets_go(make_engine: MakeEngine) -> None:
    keyed = make_engine(dedup_scope="in_flight", max_receives=1)
    first = keyed.send("body", deduplication_id="key")
    keyed.receive_one(visibility_timeout=0)
    keyed.value("select signalbox.return_and_promote(array[%s])", keyed.queue_id)

    assert keyed.send("body", deduplication_id="key") > first


@pytest.mark.parametrize("state", ["ready", "scheduled", "waiting", "leased"])
def test_a_purge_lets_go(make_engine: MakeEngine, state: str) -> None:
    keyed = make_engine(dedup_scope="in_flight", group_max_in_flight=1)
    keyed.send("holds the lane", group_id="lane")
    keyed.send(
        "body",
        deduplication_id="key",
        delay_seconds=60 if state == "scheduled" else 0,
        group_id="lane" if state == "waiting" else None,
    )
    if state == "leased":
        keyed.receive(10)

    keyed.value("select signalbox.purge(%s, null, array[%s])", keyed.queue, state)

    assert keys(keyed) == {}


def test_retention_lets_go(keyed: Engine) -> None:
    keyed.send("body", deduplication_id="key")
    keyed.connection.execute("update signalbox.ready set ready_at = '2000-01-01' where queue_id = %s", [keyed.queue_id])
    keyed.value("select signalbox.upkeep('expire_messages')")

    assert keys(keyed) == {}


def test_another_body_is_an_error_that_names_the_holder(keyed: Engine) -> None:
    first = keyed.send("body", deduplication_id="key")

    with pytest.raises(psycopg.Error) as caught:
        keyed.send("another body", deduplication_id="key")

    assert (caught.value.sqlstate, caught.value.diag.message_detail) == ("SB409", str(first))


def test_the_window_s_time_means_nothing_here(make_engine: MakeEngine) -> None:
    keyed = make_engine(dedup_scope="in_flight", dedup_window_seconds=1)
    first = keyed.send("body", deduplication_id="key")

    assert keyed.rows("select 1 from signalbox.dedup where queue_id = %s", keyed.queue_id) == []
    assert keyed.send("body", deduplication_id="key") == first


def test_the_same_id_twice_in_a_batch_is_one_message(keyed: Engine) -> None:
    ids = keyed.value(
        "select array_agg(id) from signalbox.send_batch(%s, %s::jsonb[], deduplication_ids => %s) id",
        keyed.queue,
        [Jsonb("a"), Jsonb("b"), Jsonb("a"), Jsonb("c")],
        ["a", "b", "a", None],
    )
    again = keyed.value(
        "select array_agg(id) from signalbox.send_batch(%s, %s::jsonb[], deduplication_ids => %s) id",
        keyed.queue,
        [Jsonb("b"), Jsonb("a")],
        ["b", "a"],
    )

    assert ids[0] == ids[2]
    assert again == [ids[1], ids[0]]
    assert len(keyed.receive(10)) == 3


# Races


def test_the_second_of_two_senders_gets_the_first_ones_message(
    keyed: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    first, second = opened(keyed, connect), keyed.on(connect())
    first_id = first.send("body", deduplication_id="key")
    sending = start(second.send, "body", deduplication_id="key")
    until_waiting(observer, second.connection)
    first.connection.execute("commit")

    assert finish(sending) == first_id


def test_the_second_sends_when_the_first_is_rolled_back(
    keyed: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    first, second = opened(keyed, connect), keyed.on(connect())
    first_id = first.send("of the first", deduplication_id="key")
    sending = start(second.send, "of the second", deduplication_id="key")
    until_waiting(observer, second.connection)
    first.connection.execute("rollback")

    second_id = finish(sending)
    assert keys(keyed) == {"key": second_id}
    assert second_id != first_id


def test_an_ack_that_has_not_committed_holds_on(keyed: Engine, connect: Connect) -> None:
    """No send waits: the sender gets the message that may yet come back."""
    first = keyed.send("body", deduplication_id="key")
    handle = keyed.receive_one()[1]
    acking = opened(keyed, connect)
    acking.ack(handle)

    assert keyed.on(connect(options="-c lock_timeout=1")).send("body", deduplication_id="key") == first
    acking.connection.execute("rollback")
    assert keys(keyed) == {"key": first}
    assert keyed.ack(handle) == [True]
    assert keyed.send("body", deduplication_id="key") > first


def test_a_sender_that_has_not_committed_is_not_waited_for_by_an_ack(keyed: Engine, connect: Connect) -> None:
    keyed.send("body", deduplication_id="key")
    handle = keyed.receive_one()[1]
    sender = opened(keyed, connect)
    sender.send("body", deduplication_id="key")  # answered with the first, and holds the id's lock

    assert keyed.on(connect(options="-c lock_timeout=1")).ack(handle) == [True]
    sender.connection.execute("commit")
    assert keys(keyed) == {}


def test_an_ack_and_the_next_send_in_one_transaction(
    keyed: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    first = keyed.send("body", deduplication_id="key")
    worker, other = opened(keyed, connect), keyed.on(connect())
    worker.ack(keyed.receive_one()[1])
    second = worker.send("body", deduplication_id="key")
    sending = start(other.send, "body", deduplication_id="key")
    until_waiting(observer, other.connection)
    worker.connection.execute("commit")

    assert second > first
    assert finish(sending) == second


def test_many_senders_and_workers_of_few_ids(keyed: Engine, connect: Connect) -> None:
    """One message of an id at any moment; every message delivered once; no id is left at the end."""
    done: list[int] = []

    def send_all(sender: Engine) -> set[int]:
        return {sender.send(number % 3, deduplication_id=str(number % 3)) for number in range(60)}

    def work(worker: Engine) -> None:
        for _ in range(60):
            rows = worker.receive(2)
            assert len({row[3] for row in rows}) == len(rows)
            done.extend(row[0] for row in rows)
            if rows:
                worker.ack(*[row[1] for row in rows])

    sending = [start(send_all, keyed.on(connect())) for _ in range(3)]
    working = [start(work, keyed.on(connect())) for _ in range(2)]
    sent = set().union(*[finish(call) for call in sending])
    for call in working:
        finish(call)
    work(keyed)

    assert sorted(done) == sorted(sent)
    assert keys(keyed) == {}
    assert keyed.counted() == keyed.recounted()


# Redriving


def test_a_redriven_message_takes_its_id_again(keyed: Engine) -> None:
    first = keyed.send("body", deduplication_id="key")
    keyed.nack(keyed.receive_one()[1], reason="rejected")
    letters = keyed.value("select array_agg(dead_letter_id) from signalbox.dead_letter where message_id = %s", first)

    assert keyed.value("select message_id from signalbox.redrive(%s)", letters) == first

    assert keyed.send("body", deduplication_id="key") == first
    keyed.ack(keyed.receive_one()[1])
    assert keys(keyed) == {}


def dead_ones(keyed: Engine) -> list[int]:
    """Three dead letters: of the same id, the same, and none."""
    for key in ("key", "key", None):
        keyed.send("body", deduplication_id=key)
        keyed.nack(keyed.receive_one()[1], reason="rejected")
    rows = keyed.rows(
        "select dead_letter_id from signalbox.dead_letter where source_queue_id = %s order by 1", keyed.queue_id
    )
    return [row[0] for row in rows]


def test_of_two_letters_with_one_id_the_first_goes(keyed: Engine) -> None:
    letters = dead_ones(keyed)

    moved = keyed.rows("select dead_letter_id from signalbox.redrive(%s)", letters)

    assert [row[0] for row in moved] == [letters[0], letters[2]]
    assert keyed.counted()[3] == 1


def test_a_letter_whose_id_another_message_holds_stays(keyed: Engine) -> None:
    letters = dead_ones(keyed)
    keyed.send("body", deduplication_id="key")

    moved = keyed.rows("select dead_letter_id from signalbox.redrive(%s)", letters)

    assert [row[0] for row in moved] == [letters[2]]
    assert keyed.counted() == keyed.recounted()


def test_a_redrive_does_not_wait_for_a_sender_of_the_id(keyed: Engine, connect: Connect) -> None:
    letters = dead_ones(keyed)
    sender = opened(keyed, connect)
    sender.send("body", deduplication_id="key")

    moved = keyed.on(connect(options="-c lock_timeout=1")).rows(
        "select dead_letter_id from signalbox.redrive(%s)", letters
    )

    assert [row[0] for row in moved] == [letters[2]]
    sender.connection.execute("commit")


def test_a_redrive_does_not_wait_for_an_ack_of_the_holder(keyed: Engine, connect: Connect) -> None:
    letters = dead_ones(keyed)
    keyed.send("body", deduplication_id="key")
    acking = opened(keyed, connect)
    acking.ack(keyed.receive_one()[1])

    moved = keyed.on(connect(options="-c lock_timeout=1")).rows(
        "select dead_letter_id from signalbox.redrive(%s)", letters
    )

    assert [row[0] for row in moved] == [letters[2]]
    acking.connection.execute("commit")


def test_a_letter_that_another_redrive_has_in_hand_is_left_to_it(keyed: Engine, connect: Connect) -> None:
    """Though that one is rolled back a moment later: without its id it must not go."""
    letters = dead_ones(keyed)
    other = opened(keyed, connect)
    other.rows("select signalbox.redrive(%s)", letters[:1])

    assert keyed.value("select signalbox._retake_keys(%s, null)", letters[:1]) == []
    other.connection.execute("rollback")


def test_a_sender_of_the_id_waits_for_the_redrive(
    keyed: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    letters = dead_ones(keyed)
    redriving, sender = opened(keyed, connect), keyed.on(connect())
    (moved, *_) = redriving.rows("select message_id from signalbox.redrive(%s)", letters)
    sending = start(sender.send, "body", deduplication_id="key")
    until_waiting(observer, sender.connection)
    redriving.connection.execute("commit")

    assert finish(sending) == moved[0]


def test_into_another_queue_the_id_is_that_queue_s(keyed: Engine, make_engine: MakeEngine) -> None:
    letters = dead_ones(keyed)
    window, other = make_engine(), make_engine(dedup_scope="in_flight")

    keyed.rows("select * from signalbox.redrive(%s, %s)", letters[:1], other.queue)
    keyed.rows("select * from signalbox.redrive(%s, %s)", letters[1:], window.queue)

    assert (list(keys(other)), keys(window)) == (["key"], {})
    other.ack(other.receive_one()[1])
    assert keys(other) == {}


# Changing the scope


def configure(engine: Engine, scope: str) -> None:
    engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb({"dedup_scope": scope}))


def test_a_change_forgets_all_ids(keyed: Engine) -> None:
    first = keyed.send("body", deduplication_id="key")
    configure(keyed, "window")
    second = keyed.send("body", deduplication_id="key")
    configure(keyed, "in_flight")
    third = keyed.send("body", deduplication_id="key")

    assert first < second < third
    keyed.ack(*[row[1] for row in keyed.receive(10)])
    assert keys(keyed) == {}


def test_a_change_does_not_wait_for_an_ack(keyed: Engine, connect: Connect) -> None:
    keyed.send("body", deduplication_id="key")
    acking = opened(keyed, connect)
    acking.ack(keyed.receive_one()[1])

    configure(keyed.on(connect(options="-c lock_timeout=1")), "window")

    acking.connection.execute("commit")
    assert keys(keyed) == {}


def test_an_id_that_a_claim_of_before_the_change_did_not_let_go_is_found(engine: Engine, naive: NaiveVerbs) -> None:
    """A claim that read the queue's row before the change, and then took a message of after it, marks nothing."""
    configure(engine, "in_flight")
    engine.send("body", deduplication_id="key")
    engine.send("body", deduplication_id="still there")
    naive.install("receive", {"v_flags & {flag.holds_deduplication_ids} > 0": "false"})
    engine.ack(naive.engine(engine).receive_one()[1])
    assert sorted(keys(engine)) == ["key", "still there"]

    engine.value("select signalbox.upkeep('drop_lost_keys')")

    assert sorted(keys(engine)) == ["still there"]


def test_ids_survive_what_a_crash_keeps(keyed: Engine) -> None:
    """Ids are in a logged table, written in the sender's transaction, and commit with the message."""
    kinds = keyed.rows(
        "select relpersistence::text from pg_class where oid = any(array["
        "'signalbox.dedup_in_flight', 'signalbox.dedup_in_flight_pkey', 'signalbox.ready']::regclass[])"
    )

    assert {kind for (kind,) in kinds} == {"p"}
