"""State: what a failed delivery leaves for the next one, and how long it stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.queues.receiving.plans import plans_of

Connect = Callable[..., psycopg.Connection[Any]]


def deliver(engine: Engine, most: int = 1) -> dict[int, tuple[str, Any]]:
    """Handles and states by message id."""
    rows = engine.rows("select message_id, receipt_handle, state from signalbox.receive(%s, %s)", engine.queue, most)
    return {row[0]: (row[1], row[2]) for row in rows}


def fail(engine: Engine, handle: str, state: Any = None, **options: Any) -> str | None:
    given = {} if state is None else {"state": Jsonb(state)}
    return engine.nack(handle, **{"delay_seconds": 0, **given, **options})


def kept(engine: Engine) -> list[Any]:
    return [
        row[0] for row in engine.rows("select state from signalbox.message_state where queue_id = %s", engine.queue_id)
    ]


@pytest.mark.parametrize("most", [1, 10])
def test_the_next_delivery_receives_the_state(engine: Engine, most: int) -> None:
    message_id = engine.send("work")
    handle, state = deliver(engine, most)[message_id]
    assert state is None

    assert fail(engine, handle, {"page": 7}) == "retry"

    assert deliver(engine, most)[message_id][1] == {"page": 7}


def test_each_message_of_a_claim_has_its_own(engine: Engine) -> None:
    first, second, third = (engine.send(number) for number in range(3))
    handles = deliver(engine, 3)
    fail(engine, handles[first][0], "of the first")
    fail(engine, handles[third][0])
    fresh = engine.send("fresh")
    engine.ack(handles[second][0])

    assert {key: state for key, (_, state) in deliver(engine, 10).items()} == {
        first: "of the first",
        third: None,
        fresh: None,
    }


def test_a_state_stays_until_another_takes_its_place(engine: Engine) -> None:
    message_id = engine.send("work")
    seen = []
    for state in ("one", None, {"two": 2}, None):
        handle, found = deliver(engine)[message_id]
        seen.append(found)
        fail(engine, handle, state)

    assert seen == [None, "one", "one", {"two": 2}]


def test_jsons_null_forgets_it(engine: Engine) -> None:
    message_id = engine.send("work")
    fail(engine, deliver(engine)[message_id][0], "one")
    engine.value("select signalbox.nack(%s, 0, state => 'null')", deliver(engine)[message_id][0])

    assert deliver(engine)[message_id][1] is None
    assert kept(engine) == []


def test_it_survives_a_lease_that_ran_out_and_a_message_given_back(engine: Engine) -> None:
    message_id = engine.send("work")
    fail(engine, deliver(engine)[message_id][0], "kept")
    engine.receive_one(visibility_timeout=0)
    handle, state = deliver(engine)[message_id]
    assert state == "kept"
    engine.value("select signalbox.change_visibility(%s, 0)", handle)

    assert deliver(engine)[message_id][1] == "kept"


def test_it_is_there_after_a_pause(engine: Engine) -> None:
    message_id = engine.send("work")
    fail(engine, deliver(engine)[message_id][0], "rested", delay_seconds=0.000001)

    assert deliver(engine)[message_id][1] == "rested"


@pytest.mark.parametrize("count", [1, 2])
def test_an_ack_removes_it(engine: Engine, count: int) -> None:
    for number in range(count):
        engine.send(number)
    for handle, _ in deliver(engine, count).values():
        fail(engine, handle, "x")
    assert kept(engine) == ["x"] * count

    engine.ack(*[handle for handle, _ in deliver(engine, count).values()])

    assert kept(engine) == []


def test_acks_of_several_claims_remove_it(make_engine: Callable[..., Engine]) -> None:
    engines = [make_engine(), make_engine()]
    handles = []
    for engine in engines:
        message_id = engine.send()
        fail(engine, deliver(engine)[message_id][0], "x")
        handles.append(deliver(engine)[message_id][0])

    assert engines[0].ack(*handles) == [True, True]

    assert [kept(engine) for engine in engines] == [[], []]


@pytest.mark.parametrize("state", ["ready", "scheduled", "leased"])
def test_a_purge_removes_it(engine: Engine, state: str) -> None:
    message_id = engine.send()
    fail(engine, deliver(engine)[message_id][0], "x", delay_seconds=100 if state == "scheduled" else 0)
    if state == "leased":
        deliver(engine)

    assert engine.value("select signalbox.purge(%s, states => array[%s])", engine.queue, state) == 1

    assert kept(engine) == []


def test_it_is_removed_where_the_message_waits_in_its_lane(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(group_max_in_flight=1)
    message_id = engine.send(group_id="lane")
    fail(engine, deliver(engine)[message_id][0], "x", delay_seconds=0.000001)
    engine.send("takes the slot", group_id="lane")
    deliver(engine)
    assert kept(engine) == ["x"]

    assert engine.value("select signalbox.purge(%s, states => '{waiting}')", engine.queue) == 1

    assert kept(engine) == []


def test_expiry_removes_it(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(retention_seconds=60)
    message_id = engine.send()
    fail(engine, deliver(engine)[message_id][0], "x")
    engine.connection.execute(
        "update signalbox.ready set ready_at = ready_at - interval '1 hour' where queue_id = %s", [engine.queue_id]
    )

    assert engine.value("select signalbox.expire_messages()") >= 1

    assert kept(engine) == []


@pytest.mark.parametrize("last", [None, "the last word"])
def test_a_dead_letter_keeps_the_state_and_a_redrive_starts_without(engine: Engine, last: str | None) -> None:
    message_id = engine.send()
    fail(engine, deliver(engine)[message_id][0], "x")
    fail(engine, deliver(engine)[message_id][0], last, reason="rejected")

    letter, state = engine.rows(
        "select dead_letter_id, state from signalbox.dead_letter where message_id = %s", message_id
    )[0]
    assert state == (last or "x")
    assert kept(engine) == []

    engine.rows("select * from signalbox.redrive(array[%s])", letter)
    assert deliver(engine)[message_id][1] is None


def test_a_lease_that_ran_out_for_good_takes_it_along_too(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_receives=2)
    message_id = engine.send()
    fail(engine, deliver(engine)[message_id][0], "x")
    engine.receive_one(visibility_timeout=0)
    assert engine.receive(1) == []

    assert engine.value("select state from signalbox.dead_letter where message_id = %s", message_id) == "x"
    assert kept(engine) == []


def test_a_large_state_is_refused_and_nothing_happens(engine: Engine) -> None:
    message_id = engine.send()
    handle = deliver(engine)[message_id][0]

    with pytest.raises(psycopg.Error) as caught:
        fail(engine, handle, "x" * 16_383)
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SB400", "state")
    assert caught.value.diag.message_primary == "state is 16385 bytes of JSON: at most 16384"
    assert engine.recounted()[2] == 1

    assert fail(engine, handle, "x" * 16_382) == "retry"


def test_a_lost_lease_leaves_no_state(engine: Engine) -> None:
    message_id = engine.send()
    handle = deliver(engine)[message_id][0]
    engine.ack(handle)

    assert fail(engine, handle, "too late") is None
    assert kept(engine) == []


def test_first_deliveries_and_their_acks_do_not_look(engine: Engine, connect: Connect) -> None:
    """The table of states is in no plan for messages that never failed."""
    for number in range(6):
        engine.send(number)
    session = connect()

    for most in (1, 3):
        session.execute("discard plans")
        plans = plans_of(session, "select count(*) from signalbox.receive(%s, %s)", engine.queue, most)
        assert plans
        assert not any(relation == "message_state" for plan in plans for _, relation in plan.scans())
    handle = engine.receive_one()[1]
    plans = plans_of(session, "select count(*) from signalbox.ack(array[%s])", handle)
    assert plans
    assert not any(relation == "message_state" for plan in plans for _, relation in plan.scans())


def test_later_ones_look_by_index(engine: Engine, connect: Connect) -> None:
    for _ in range(2):
        engine.send()
    for handle, _ in deliver(engine, 2).values():
        fail(engine, handle, "x")
    session = connect()

    plans = plans_of(session, "select count(*) from signalbox.receive(%s, 2)", engine.queue)

    scans = {(node.label, relation) for plan in plans for node, relation in plan.scans() if relation == "message_state"}
    assert scans == {("INDEXSCAN", "message_state")}
    assert [plan.whole_scans() for plan in plans] == [[]] * len(plans)
