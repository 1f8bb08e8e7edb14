"""The floor must not pass a message that can still commit (hazards 1 and 7).

Each race is written once and run with the engine, which delivers, and with a naive version, which strands the message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.floors import DUE, LEASES, Floors, floor_at, found_above
from tests.races.naive import NaiveVerbs
from tests.races.sessions import finish, start, until, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]
MakeFloors = Callable[..., Floors]

# What each naive keeper takes for a writer.
NOBODY = {"l.granted": "false"}
SESSIONS_AT_WORK = {"l.granted": "l.pid in (select a.pid from pg_stat_activity a where a.state = 'active')"}
SESSIONS = {"l.granted": "l.pid is not null"}
SENDERS = {", 'signalbox.lease'::regclass, 'signalbox.scheduled'::regclass": ""}


def delivered(engine: Engine) -> list[int]:
    return [row[0] for row in engine.receive(10)]


def send_late(sender: Engine, floors: Floors) -> int:
    """A transaction begins, the floor moves, and only then does it send."""
    sender.connection.execute("begin")
    sender.value("select 1")
    floors.tick()
    message_id = sender.send("late")
    sender.connection.execute("commit")
    floors.tick()
    return message_id


def test_a_transaction_older_than_the_floor_may_still_send(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(engine)
    floors.tick()

    message_id = send_late(engine.on(connect()), floors)

    assert delivered(engine) == [message_id]


def test_the_time_of_the_transaction_would_strand_its_message(
    engine: Engine, make_floors: MakeFloors, connect: Connect, naive: NaiveVerbs
) -> None:
    naive.install("send", {"signalbox.clock_time()": "now()"})
    floors = make_floors(engine)
    floors.tick()

    send_late(naive.engine(engine, connect()), floors)

    assert found_above(engine) == []
    assert floors.keeper.sweep() == 1
    assert len(delivered(engine)) == 1


def send_slowly(sender: Engine, floors: Floors) -> int:
    """A message is sent, the floor may move, and only then does the sender commit."""
    sender.connection.execute("begin")
    message_id = sender.send("slow")
    floors.tick()
    sender.connection.execute("commit")
    floors.tick()
    return message_id


def test_the_floor_waits_for_a_sender_that_is_open(engine: Engine, make_floors: MakeFloors, connect: Connect) -> None:
    floors = make_floors(engine)
    floors.tick()

    message_id = send_slowly(engine.on(connect()), floors)

    assert delivered(engine) == [message_id]


@pytest.mark.parametrize("unaware", [NOBODY, SESSIONS_AT_WORK], ids=["of anybody", "of idle sessions"])
def test_a_keeper_unaware_of_writers_would_strand_their_messages(
    engine: Engine, make_floors: MakeFloors, connect: Connect, unaware: dict[str, str]
) -> None:
    floors = make_floors(engine, unaware)
    floors.tick()

    send_slowly(engine.on(connect()), floors)

    assert found_above(engine) == []


def test_a_claim_that_is_rolled_back_holds_its_messages_above_the_floor(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(engine)
    message_id = engine.send("claimed in vain")
    claimer = engine.on(connect())
    claimer.connection.execute("begin")
    assert delivered(claimer) == [message_id]
    floors.tick()
    floors.lose_patience()
    claimer.connection.execute("rollback")

    assert delivered(engine) == [message_id]


def send_prepared(engine: Engine, floors: Floors, connect: Connect, *, steps_before: int) -> int:
    """The sender's transaction is prepared, its session ends, and much later it is committed."""
    name = f"slow {engine.queue}"
    sender = engine.on(connect())
    sender.connection.execute("begin")
    message_id = sender.send("in two phases")
    floors.tick(steps_before)
    sender.connection.execute(f"prepare transaction '{name}'")
    sender.connection.close()
    floors.tick()
    engine.connection.execute(f"commit prepared '{name}'")
    floors.tick()
    return message_id


@pytest.mark.parametrize("steps_before", [0, 1, 3])
def test_the_floor_waits_for_prepared_transactions(
    engine: Engine, make_floors: MakeFloors, connect: Connect, steps_before: int
) -> None:
    """Preparing renames the writer; whether it was noted before does not matter."""
    floors = make_floors(engine)
    floors.tick()

    message_id = send_prepared(engine, floors, connect, steps_before=steps_before)

    assert delivered(engine) == [message_id]


def test_a_keeper_that_looks_at_sessions_would_strand_prepared_messages(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(engine, SESSIONS)
    floors.tick()

    send_prepared(engine, floors, connect, steps_before=0)

    assert found_above(engine) == []


def send_after_waiting(sender: Engine, floors: Floors, connect: Connect, observer: psycopg.Connection[Any]) -> int:
    """The call begins, waits for another sender's deduplication id, and inserts its ticket long after."""
    holder = connect()
    holder.execute("begin")
    holder.execute("select pg_advisory_xact_lock(%s, hashtext('key'))", [sender.queue_id])
    sending = start(sender.send, "patient", deduplication_id="key")
    until_waiting(observer, sender.connection)
    floors.tick()
    holder.execute("commit")
    message_id = finish(sending)
    floors.tick()
    return message_id


def test_a_send_that_waits_takes_its_time_when_it_inserts(
    engine: Engine, make_floors: MakeFloors, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    floors = make_floors(engine)
    floors.tick()

    message_id = send_after_waiting(engine.on(connect()), floors, connect, observer)

    assert delivered(engine) == [message_id]


def test_a_time_taken_before_the_insert_would_strand_the_message(
    engine: Engine, make_floors: MakeFloors, connect: Connect, observer: psycopg.Connection[Any], naive: NaiveVerbs
) -> None:
    naive.install(
        "_send_message",
        {
            "v_text text;\nbegin": "v_text text;\n  v_at timestamptz := signalbox.clock_time();\nbegin",
            "signalbox.clock_time(), v_id": "v_at, v_id",
        },
    )
    naive.install("send", {})
    floors = make_floors(engine)
    floors.tick()

    send_after_waiting(naive.engine(engine, connect()), floors, connect, observer)

    assert found_above(engine) == []


@pytest.fixture
def clock_ahead(observer: psycopg.Connection[Any]) -> Any:
    """Signalbox's clock an hour ahead of the wall: what a clock that was set back leaves behind."""
    (before,) = observer.execute("select last_value from signalbox.clock").fetchone() or (0,)
    observer.execute(
        "select setval('signalbox.clock', (extract(epoch from clock_timestamp()) * 1000000)::bigint + 3600000000)"
    )
    yield
    observer.execute("select setval('signalbox.clock', %s)", [before])


@pytest.mark.usefixtures("clock_ahead")
def test_messages_sent_after_the_wall_clock_was_set_back_are_delivered(engine: Engine, make_floors: MakeFloors) -> None:
    floors = make_floors(engine)
    floors.tick()
    message_id = engine.send("from the past")
    floors.tick()

    assert delivered(engine) == [message_id]


@pytest.mark.usefixtures("clock_ahead")
def test_the_wall_clock_alone_would_strand_messages_when_set_back(
    engine: Engine, make_floors: MakeFloors, naive: NaiveVerbs
) -> None:
    naive.install("send", {"signalbox.clock_time()": "clock_timestamp()"})
    floors = make_floors(engine)
    floors.tick()
    naive.engine(engine).send("from the past")
    floors.tick()

    assert found_above(engine) == []


@pytest.mark.usefixtures("clock_ahead")
def test_deadlines_and_due_times_stay_above_their_floors_when_the_wall_clock_was_set_back(
    engine: Engine, make_floors: MakeFloors
) -> None:
    floors = make_floors(engine)
    floors.tick()
    engine.send("delayed", delay_seconds=0.001)
    for payload in ("leased alone", "leased", "extended", "retried"):
        engine.send(payload)
    engine.receive_one(visibility_timeout=0.001)
    _, extended, retried = (row[1] for row in engine.receive(3, visibility_timeout=0.001))
    engine.value("select signalbox.change_visibility(%s, 0.001)", extended)
    engine.nack(retried, delay_seconds=0.001)
    floors.tick()

    assert floors.keeper.sweep() == 0
    assert engine.recounted()[:3] == (0, 2, 3)


def test_the_floor_follows_what_was_consumed_and_stops_at_what_was_not(engine: Engine, make_floors: MakeFloors) -> None:
    floors = make_floors(engine)
    engine.send("consumed")
    last = engine.send("waiting")
    consumed = engine.receive_one()[1]
    engine.ack(consumed)
    floors.tick()

    ready_at = engine.value("select ready_at from signalbox.ready where message_id = %s", last)
    assert floors.at() == ready_at
    assert delivered(engine) == [last]
    floors.tick()
    assert floors.at() > ready_at


def test_every_way_back_into_the_queue_lands_above_the_floor(engine: Engine, make_floors: MakeFloors) -> None:
    """Hazard 2: ranked by when it became claimable, nothing re-enters below."""
    floors = make_floors(engine)
    ways = ["retried", "given back", "expired", "due", "redriven"]
    handles = {}
    for way in ways:
        handles[way] = engine.receive_one()[1] if engine.send(way) else ""
    for _ in range(2):
        floors.tick()  # well past the times at which they were sent

    assert engine.nack(handles["retried"], delay_seconds=0) == "retry"
    engine.value("select signalbox.change_visibility(%s, 0)", handles["given back"])
    engine.value("select signalbox.change_visibility(%s, 0.001)", handles["expired"])
    assert engine.nack(handles["due"], delay_seconds=0.001) == "retry"
    assert engine.nack(handles["redriven"], reason="rejected") == "dead"
    engine.value(
        "select signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter where source_queue_id = %s))",
        engine.queue_id,
    )

    payloads: set[str] = set()
    until(lambda: payloads.update(row[3] for row in engine.receive(10)) or len(payloads) == len(ways), "all of them")


def test_every_way_back_lands_above_the_floor_from_an_older_transaction_too(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    """Upkeep's, a worker's or an operator's, that began before the floor moved and returns messages after."""
    floors = make_floors(engine)
    letter = engine.die("redriven")
    handles = [engine.receive_one()[1] for way in ("retried", "given back") if engine.send(way)]
    engine.send("expired")
    engine.receive_one(visibility_timeout=0)
    engine.send("due", delay_seconds=0.000001)
    returner = engine.on(connect())
    returner.connection.execute("begin")
    returner.value("select 1")
    floors.tick()
    returner.nack(handles[0], delay_seconds=0)
    returner.value("select signalbox.change_visibility(%s, 0)", handles[1])
    returner.value("select count(*) from signalbox.redrive(array[%s::bigint])", letter)
    returner.value("select signalbox.return_and_promote(array[%s])", engine.queue_id)
    returner.connection.execute("commit")
    floors.tick()

    assert floors.keeper.sweep() == 0
    assert {row[3] for row in engine.receive(10)} == {"redriven", "retried", "given back", "expired", "due"}


def test_a_retry_ranked_by_its_first_time_would_be_stranded(
    engine: Engine, make_floors: MakeFloors, naive: NaiveVerbs
) -> None:
    naive.install(
        "nack",
        {
            "v_lease.receive_count, signalbox.clock_time(), v_lease.message_id": (
                "v_lease.receive_count, (select m.sent_at from signalbox.message m"
                " where m.queue_id = v_lease.queue_id and m.message_id = v_lease.message_id), v_lease.message_id"
            )
        },
    )
    floors = make_floors(engine)
    engine.send("retried")
    handle = engine.receive_one()[1]
    floors.tick()

    assert naive.engine(engine).nack(handle, delay_seconds=0) == "retry"

    assert found_above(engine) == []


def extend_slowly(engine: Engine, floors: Floors, connect: Connect) -> None:
    """A heartbeat in a transaction that stays open for longer than the time it asks for."""
    engine.send("slow work")
    worker = engine.on(connect())
    handle = worker.receive_one()[1]
    worker.connection.execute("begin")
    deadline = worker.value("select signalbox.change_visibility(%s, 0.01)", handle)
    until(lambda: engine.value("select clock_timestamp() > %s", deadline), "the deadline")
    floors.tick()
    worker.connection.execute("commit")
    floors.tick()


def test_a_lease_whose_deadline_passes_before_it_commits_still_expires(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(engine)
    floors.tick()

    extend_slowly(engine, floors, connect)

    assert len(delivered(engine)) == 1


def test_a_keeper_unaware_of_heartbeats_would_strand_their_leases(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(engine, SENDERS)
    floors.tick()

    extend_slowly(engine, floors, connect)

    assert floors.at(LEASES) > engine.value("select deadline from signalbox.lease where queue_id = %s", engine.queue_id)
    assert found_above(engine) == []


def test_a_delay_that_is_over_before_it_commits_still_ends(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(engine)
    floors.tick()
    sender = engine.on(connect())
    sender.connection.execute("begin")
    message_id = sender.send("soon", delay_seconds=0.01)
    due_at = sender.value("select due_at from signalbox.scheduled where message_id = %s", message_id)
    until(lambda: engine.value("select clock_timestamp() > %s", due_at), "the due time")
    floors.tick()
    assert floor_at(engine, DUE) <= due_at
    sender.connection.execute("commit")
    floors.tick()

    assert delivered(engine) == [message_id]
