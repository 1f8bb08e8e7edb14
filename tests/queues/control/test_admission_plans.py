"""Cost of limits and held ids is independent of the queue's size: every read is the head of an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.queues.receiving.plans import Plan, plans_of

Connect = Callable[..., psycopg.Connection[Any]]

GROWING = {"message", "ready", "scheduled", "waiting", "lease", "dedup_in_flight", "dead_letter", "settled"}
MANY = 20_000


@pytest.fixture(scope="module")
def limited(dsn: str) -> Iterator[Engine]:
    """A queue with every limit and twenty thousand messages in flight that hold ids."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        engine = Engine(connection, "limited-and-large", 0)
        settings = {
            "dedup_scope": "in_flight",
            "max_backlog_messages": 1_000_000,
            "max_backlog_bytes": 1_000_000_000,
            "max_oldest_age_seconds": 100_000,
            "max_in_flight": 10_000,
            "publish_rate_per_second": 1_000_000,
        }
        engine.queue_id = engine.value("select signalbox.create_queue(%s, %s)", engine.queue, Jsonb(settings))
        connection.execute(
            "insert into signalbox.lease (message_id, queue_id, receive_count, priority, deadline, leased_at, nonce)"
            " select -n, %s, 1, 0, now() + interval '1 hour', now(), gen_random_uuid() from generate_series(1, %s) n",
            [engine.queue_id, MANY],
        )
        connection.execute(
            "insert into signalbox.dedup_in_flight select %s, n::text, -n, '' from generate_series(1, %s) n",
            [engine.queue_id, MANY],
        )
        connection.execute("analyze signalbox.lease, signalbox.dedup_in_flight")
        yield engine
        for table in ("lease", "dedup_in_flight"):
            connection.execute(f"delete from signalbox.{table} where queue_id = %s".encode(), [engine.queue_id])


def whole_scans(plans: list[Plan]) -> list[str]:
    """List the whole scans of tables that grow with the contents of queues."""
    return [scan for plan in plans for scan in plan.whole_scans() if scan.split()[-1] in GROWING]


def test_sending_looks_at_heads_only(limited: Engine, connect: Connect) -> None:
    send = "select signalbox.send(%s, '1', deduplication_id => 'a new one')"
    plans = plans_of(connect(), send, limited.queue)

    assert len(plans) > 10
    assert whole_scans(plans) == []


def test_counting_what_is_in_flight_ends_at_the_limit(limited: Engine, connect: Connect) -> None:
    session = connect()
    plans = plans_of(session, "select signalbox._free_in_flight(%s)", limited.queue_id)
    leases = [(node.label, relation) for plan in plans for node, relation in plan.scans() if relation == "lease"]

    assert whole_scans(plans) == []
    assert leases
    assert set(leases) <= {("INDEXSCAN", "lease"), ("INDEXONLYSCAN", "lease")}
    with session.transaction():
        before = leases_read(session)
        assert session.execute("select signalbox._free_in_flight(%s)", [limited.queue_id]).fetchone() == (0,)
        assert leases_read(session) - before <= 10_000


def leases_read(session: psycopg.Connection[Any]) -> int:
    """Rows of leases that this session has read through an index."""
    row = session.execute(
        "select idx_tup_fetch from pg_stat_xact_user_tables where relid = 'signalbox.lease'::regclass"
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_an_ack_of_a_marked_claim_lets_go_by_an_index(limited: Engine, connect: Connect) -> None:
    plans = plans_of(connect(), "select signalbox._release_keys(%s)", [-1, -2])

    assert whole_scans(plans) == []
    assert any(relation == "dedup_in_flight" for plan in plans for _, relation in plan.scans())


def test_an_evaluation_reads_counters_and_heads(limited: Engine, connect: Connect) -> None:
    counter_id = limited.value(
        "select counter_id from signalbox.admission_counter where queue_id = %s", limited.queue_id
    )
    plans = plans_of(connect(), "select signalbox._evaluate(%s)", counter_id)

    assert len(plans) > 5
    assert whole_scans(plans) == []


def test_the_checks_see_a_plan_without_its_index(limited: Engine, connect: Connect) -> None:
    session = connect()
    session.execute("begin")
    session.execute("drop index signalbox.dedup_in_flight_message")
    plans = plans_of(session, "select signalbox._release_keys(%s)", [-1])
    session.execute("rollback")

    assert whole_scans(plans) == ["SEQSCAN dedup_in_flight"]
