"""Patroni elects while clients work: whichever way a leader is lost, no acknowledged send and no ack is lost."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from tests.chaos.judging.checker import check
from tests.chaos.judging.history import OK
from tests.proof.failover.load import Load, load
from tests.proof.patroni.cluster import PatroniNodes
from tests.proof.patroni.nodes import Node

pytestmark = [pytest.mark.timeout(900)]

FENCES = "select count(*) from signalbox.audit_event where action = 'server.fence' and actor = 'upkeep'"
PROMOTIONS = "select count(*) from signalbox.audit_event where action = 'server.promoted'"

#: A replaced leader hands out messages until it is fenced or ends, by claims that are not durable. The new leader knows
#: none of these claims: it delivers the messages again and does not count the claims. It does not have a message whose
#: send waited for a standby: when the end of a session ends that wait, other consumers see the message for a moment.
TOLERATED = {"miscounted delivery", "unexplained duplicate", "unexpected"}


def test_no_leader_that_patroni_replaces_takes_anything_acknowledged_with_it() -> None:
    with PatroniNodes() as cluster, load(cluster) as working:
        working.wait_for_work()
        programs = working.programs()
        for lose in WAYS:
            _through(lose, cluster, working)
        assert working.programs() == programs
        truth = working.drain()
        verdict = check(working.operations(), truth)
        with cluster.connect_patiently() as connection:
            (promotions,) = connection.execute(PROMOTIONS).fetchone() or (0,)

    assert set(verdict.charges) <= TOLERATED, str(verdict)
    assert verdict.figures["acknowledged"] > 0
    assert promotions >= len(WAYS)  # a busy machine may cause another one


def _through(lose: Callable[[PatroniNodes, Node], None], cluster: PatroniNodes, working: Load) -> None:
    """Lose the leader under load, until all three nodes are back and all clients work."""
    leader = cluster.settled()
    journal = working.journal()
    crash = journal.invoke("crash")  # of claims that are not durable
    lose(cluster, leader)
    cluster.settled()
    working.wait_for_work(since=time.time())
    journal.complete(crash, OK)


def _kill(cluster: PatroniNodes, leader: Node) -> None:
    leader.kill()
    cluster.settled(without=leader)
    leader.patroni.start()


def _freeze(cluster: PatroniNodes, leader: Node) -> None:
    """PostgreSQL goes on without Patroni, until upkeep fences it. Who hangs is ended, as a watchdog does.

    Debian's Patroni 3.0.2 must not go on: the lock that it writes next overwrites that of the new leader.
    """
    before = _fences(cluster)
    leader.patroni.signal(signal.SIGSTOP)
    cluster.settled(without=leader)
    cluster.wait_until(lambda: _fences(cluster) > before, "upkeep fences the old leader")
    leader.patroni.kill()
    leader.patroni.start()


def _cut_off(cluster: PatroniNodes, leader: Node) -> None:
    """Patroni without etcd steps down by itself."""
    leader.way_to_etcd.kill()
    cluster.settled(without=leader)
    leader.way_to_etcd.start()


def _switch_over(cluster: PatroniNodes, leader: Node) -> None:
    cluster.switch_over(leader)


def _fences(cluster: PatroniNodes) -> int:
    with cluster.connect_patiently() as connection:
        (count,) = connection.execute(FENCES).fetchone() or (0,)
    return int(count)


WAYS = (_kill, _freeze, _cut_off, _switch_over)
