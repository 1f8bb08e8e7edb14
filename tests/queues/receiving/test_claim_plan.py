"""Cost of a claim is independent of the backlog and of the statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.queues.receiving.plans import Plan, plans_of

Connect = Callable[..., psycopg.Connection[Any]]

MILLION = 1_000_000
RECEIVE = "select count(*) from signalbox.receive(%s, %s)"


# Bodies only for the first of them, which are all that will be claimed.
FILL = (
    "select count(signalbox._ensure_segment((%(first)s + s) * 1000000 + 1)) from generate_series(0, 11) s",
    """
    insert into signalbox.message (message_id, queue_id, payload, priority, sent_at)
    select (%(first)s + n %% 12) * 1000000 + n / 12 + 1, %(queue_id)s, '1', n %% 3, now()
    from generate_series(0, 5999) n
    """,
    """
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
    select %(queue_id)s, n %% 3, 0, now() - interval '1 hour' + n * interval '1 millisecond',
      (%(first)s + n %% 12) * 1000000 + n / 12 + 1
    from generate_series(0, 999999) n
    """,
    "select signalbox._use_priority(%(queue_id)s, p::smallint) from generate_series(1, 2) p",
    "select setval('signalbox.message_id', (%(first)s + 12) * 1000000 + 1)",
    "analyze signalbox.ready",
)


@pytest.fixture(scope="module")
def crowded(dsn: str) -> Iterator[Engine]:
    """A queue with a million ready messages of three priorities, spread over twelve segments of the log."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        engine = Engine(connection, "crowded", 0)
        engine.queue_id = engine.value(
            "select signalbox.create_queue('crowded', '{\"visibility_timeout_seconds\": 3600}')"
        )
        engine.value("select signalbox.ensure_partitions()")
        first = engine.value("select signalbox.publish_log_end() / 1000000")
        for statement in FILL:
            connection.execute(statement, {"queue_id": engine.queue_id, "first": first})
        engine.value("select signalbox.ensure_partitions()")
        engine.value("select signalbox.publish_log_end()")
        yield engine
        for table in ("ready", "lease", "message"):
            connection.execute(f"delete from signalbox.{table} where queue_id = %s", [engine.queue_id])


def claims(plans: list[Plan]) -> list[Plan]:
    """The plans that read tickets."""
    return [plan for plan in plans if any(relation == "ready" for _, relation in plan.scans())]


def test_a_claim_reads_the_head_of_one_index_however_much_waits(crowded: Engine, connect: Connect) -> None:
    for max_messages in (1, 10, 100):
        session = connect()
        plans = plans_of(session, RECEIVE, crowded.queue, max_messages)

        assert len(claims(plans)) == 2  # which priority is next, and its tickets
        assert [plan.whole_scans() for plan in plans] == [[]] * len(plans)
        assert not any("ready" in plan.sorted_relations() for plan in plans)
        scans = {(node.label, relation) for plan in claims(plans) for node, relation in plan.scans()}
        assert scans <= {("INDEXSCAN", "ready"), ("INDEXONLYSCAN", "ready"), ("TIDSCAN", "ready")}


def test_a_claim_touches_only_the_pages_it_needs(crowded: Engine, connect: Connect) -> None:
    session = connect()
    session.execute(RECEIVE, [crowded.queue, 10])  # reads the catalogs once
    with session.transaction():
        session.execute(RECEIVE, [crowded.queue, 10])
        reads, fetched = _read_in_this_transaction(session, "ready")

    assert reads == 0
    assert fetched <= 60  # ten messages, the heads of three priorities each time the next is chosen, ten by their place


def test_the_checks_see_a_plan_without_its_index(crowded: Engine, connect: Connect) -> None:
    session = connect()
    session.execute("begin")
    session.execute("drop index signalbox.ready_claim")
    plans = claims(plans_of(session, RECEIVE, crowded.queue, 10))
    session.execute("rollback")

    assert any("SEQSCAN ready" in plan.whole_scans() for plan in plans)
    assert any("ready" in plan.sorted_relations() for plan in plans)


def test_bodies_are_fetched_from_the_segments_that_hold_them(crowded: Engine, connect: Connect) -> None:
    """Hazard 18: an array parameter alone prunes nothing; the bounds beside it leave one segment of many."""
    session = connect()
    with session.transaction():
        (message_id,) = session.execute(
            "select message_id from signalbox.receive(%s, 1)", [crowded.queue]
        ).fetchone() or (0,)
        used = session.execute(
            "select relname from pg_stat_xact_user_tables where schemaname = 'signalbox'"
            " and relname ~ '^message_[0-9]+$' and coalesce(seq_scan, 0) + coalesce(idx_scan, 0) > 0"
        ).fetchall()

    assert used == [(f"message_{(message_id - 1) // MILLION}",)]


def _read_in_this_transaction(session: psycopg.Connection[Any], table: str) -> tuple[int, int]:
    """Full scans of a table, and its rows read through indexes."""
    row = session.execute(
        "select seq_scan, idx_tup_fetch from pg_stat_xact_user_tables where relid = %s::regclass",
        [f"signalbox.{table}"],
    ).fetchone()
    assert row is not None
    return row
