"""Verbs look rows up by their keys even when the statistics were taken while the tables were nearly empty.

A plan made then is kept until an analyze comes by; one that reads a whole index costs what
the table has grown to since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.queues.receiving.plans import Plan, plans_of

Connect = Callable[..., psycopg.Connection[Any]]

SETTLING = {
    "ack": "select count(*) from signalbox.ack(array[%s])",
    "extend": "select signalbox.change_visibility(%s, 60)",
    "give back": "select signalbox.change_visibility(%s, 0)",
    "retry": "select signalbox.nack(%s)",
    "dead letter": "select signalbox.nack(%s, reason => 'rejected')",
}
OF_DEAD_LETTERS = {
    "redrive": "select count(*) from signalbox.redrive(array[%s])",
    "delete": "select signalbox.delete_dead_letters(array[%s])",
}
OF_NEW_QUEUES = {"maintenance", "fleet_directory", "queue_alias"}
"""One row each, and one for each name that a queue had; read when the first death makes a queue for the dead."""
TICKETS = "signalbox.ready, signalbox.scheduled, signalbox.lease, signalbox.dead_letter, signalbox.redriven"


@pytest.fixture(params=[0, 1, 3])
def bare(request: pytest.FixtureRequest, engine: Engine, connect: Connect) -> Iterator[Engine]:
    """A session that believes the tables of tickets nearly empty, as they often are when statistics are taken.

    They are, for this transaction, which is never committed.
    """
    session = engine.on(connect())
    session.connection.execute("begin")
    session.connection.execute(f"truncate {TICKETS}")
    for number in range(request.param):
        session.die(number)
        session.send(number)
    session.receive(10)
    session.connection.execute(f"analyze {TICKETS}")
    session.connection.execute("discard plans")
    yield session
    session.connection.execute("rollback")


@pytest.mark.parametrize("verb", SETTLING)
def test_settling_looks_leases_up_even_when_they_were_few(bare: Engine, verb: str) -> None:
    bare.send("one more")
    handle = bare.receive_one()[1]

    plans = plans_of(bare.connection, SETTLING[verb], handle)

    scans = [scan for plan in plans for scan in plan.whole_scans()]
    assert [scan for scan in scans if scan.split()[-1] not in OF_NEW_QUEUES] == []


@pytest.mark.parametrize("verb", OF_DEAD_LETTERS)
def test_dead_letters_are_looked_up_even_when_they_were_few(bare: Engine, verb: str) -> None:
    plans = plans_of(bare.connection, OF_DEAD_LETTERS[verb], bare.die("one more"))

    assert [scan for plan in plans for scan in plan.whole_scans()] == []


@pytest.mark.parametrize("verb", ["receive", "purge"])
def test_claims_and_purges_read_no_table_whole_even_when_it_was_small(bare: Engine, verb: str) -> None:
    bare.send("expired")
    bare.receive_one(visibility_timeout=0)
    bare.send("due", delay_seconds=0.000001)

    plans = plans_of(bare.connection, f"select signalbox.{verb}(%s)", bare.queue)

    assert [scan for plan in plans for scan in plan.whole_scans()] == []


LANES = "signalbox.waiting, signalbox.lane_hint, signalbox.lane_slot, signalbox.lane_floor"
OF_LANES = {
    "release_lanes": "select signalbox.release_lanes()",
    "receive": "select count(*) from signalbox.receive(%s, 10)",
}


@pytest.fixture(params=[0, 1, 3])
def number_of_groups(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=[{"group_max_in_flight": 2}, {"fair_groups": True}], ids=["limited", "shared"])
def bare_lanes(
    request: pytest.FixtureRequest, number_of_groups: int, make_engine: Callable[..., Engine], connect: Connect
) -> Iterator[Engine]:
    """Check the plans of the tables of message groups."""
    engine = make_engine(**request.param)
    session = engine.on(connect())
    session.connection.execute("begin")
    session.connection.execute(f"truncate {LANES}")
    for number in range(number_of_groups):
        session.send(number, group_id=f"g{number}")
    session.connection.execute(f"analyze {LANES}")
    session.connection.execute("discard plans")
    yield session
    session.connection.execute("rollback")


@pytest.mark.parametrize("verb", OF_LANES)
def test_lanes_are_probed_even_when_they_were_few(bare_lanes: Engine, verb: str) -> None:
    """A sort, or the index that is meant for another question, reads all that an old snapshot keeps."""
    for number in range(4):
        bare_lanes.send(number, group_id=f"g{number}")
    arguments = [bare_lanes.queue] * OF_LANES[verb].count("%s")

    plans = plans_of(bare_lanes.connection, OF_LANES[verb], *arguments)

    of_lanes = {"waiting", "lane_hint", "lane_slot", "lane_floor"}
    assert [scan for plan in plans for scan in plan.whole_scans() if scan.split()[-1] in of_lanes] == []
    assert [plan for plan in plans if plan.sorted_relations() & {"waiting", "lane_slot", "lane_floor"}] == []
    shared = bare_lanes.value("select fair_groups from signalbox.queue where queue_id = %s", bare_lanes.queue_id)
    expected = of_lanes - {"lane_slot"} if shared else of_lanes  # shared groups have no permits
    assert expected <= {relation for plan in plans for _, relation in plan.scans()}
    of_the_queue = [
        plan for plan in plans if {"lane_hint"} <= {name for _, name in plan.scans()} <= {"lane_hint", "claim_floor"}
    ]
    assert indexes_of(bare_lanes, of_the_queue[:1], "lane_hint") == {"lane_hint_due"}


def indexes_of(engine: Engine, plans: list[Plan], relation: str) -> set[str]:
    """The indexes by which these plans read a table."""
    scans = [node for plan in plans for node, name in plan.scans() if name == relation]
    return {engine.value("select relname from pg_class where oid = %s", node.number("indexid")) for node in scans}
