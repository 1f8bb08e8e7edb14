"""The primary is killed during traffic, the standby is promoted, and all clients find it without configuration."""

from __future__ import annotations

import time

import pytest

from tests.chaos.judging.checker import check
from tests.chaos.judging.history import OK
from tests.proof.failover.load import load
from tests.proof.failover.pair import Pair
from tests.proof.failover.unheard import lost, unheard

pytestmark = [pytest.mark.timeout(1500)]

LAST_REPLAYED = "select extract(epoch from pg_last_xact_replay_timestamp())::double precision"


def test_of_a_synchronous_standby_nothing_acknowledged_is_lost_and_nothing_unexplained() -> None:
    with Pair() as pair, load(pair) as working:
        pair.wait_for_each_commit()
        working.wait_for_work(since=time.time())
        journal = working.journal()
        programs = working.programs()
        crash = journal.invoke("crash")

        pair.kill_primary()
        pair.promote()

        journal.complete(crash, OK)
        working.wait_for_work(since=time.time())
        assert working.programs() == programs
        truth = working.drain()
        verdict = check(working.operations(), truth)

    assert verdict.valid, str(verdict)
    assert verdict.figures["acknowledged"] > 0


def test_of_an_asynchronous_standby_only_what_it_had_not_heard_is_lost() -> None:
    with Pair() as pair, load(pair) as working:
        working.wait_for_work()
        journal = working.journal()
        pair.stop_sending()
        working.wait_for_work(since=time.time())

        crash = journal.invoke("crash")
        pair.kill_primary()
        died_at = time.time()
        pair.promote()
        journal.complete(crash, OK)

        working.wait_for_work(since=time.time())
        truth = working.drain()
        with pair.connect_to_standby() as connection:
            (last_replayed,) = connection.execute(LAST_REPLAYED).fetchone() or (0.0,)
        operations = working.operations()
        verdict = check(unheard(operations, last_replayed, died_at, truth), truth)

    gone = lost(operations, truth)
    assert verdict.valid, str(verdict)
    assert gone, "the standby heard nothing for a while, and yet nothing is lost"
    assert all(one.invoked <= died_at and last_replayed < (one.completed or 0.0) for one in gone)
