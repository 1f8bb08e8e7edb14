"""Cost of the long polls of a process, once a second: by the number of queues, never by their contents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.queues.receiving.plans import plans_of

Connect = Callable[..., psycopg.Connection[Any]]

MANY = 20_000
GROWING = {"message", "ready", "scheduled", "lease", "lane_hint", "dead_letter", "settled", "failure", "consumer"}
LOOK = "select signalbox.receivable_queues(%s)"


@pytest.fixture(scope="module")
def crowded(dsn: str) -> Iterator[Engine]:
    """A queue with many leases and delays, none of which is over."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        engine = Engine(connection, "crowded-and-waited-for", 0)
        engine.queue_id = engine.value("select signalbox.create_queue(%s)", engine.queue)
        connection.execute(
            "insert into signalbox.lease (message_id, queue_id, receive_count, priority, deadline, leased_at, nonce)"
            " select -n, %s, 1, 0, now() + interval '1 hour', now(), gen_random_uuid() from generate_series(1, %s) n",
            [engine.queue_id, MANY],
        )
        connection.execute(
            "insert into signalbox.scheduled (queue_id, priority, receive_count, due_at, message_id)"
            " select %s, 0, 0, now() + interval '1 hour', -n from generate_series(1, %s) n",
            [engine.queue_id, MANY],
        )
        connection.execute("analyze signalbox.lease, signalbox.scheduled")
        yield engine
        for table in ("lease", "scheduled"):
            connection.execute(f"delete from signalbox.{table} where queue_id = %s".encode(), [engine.queue_id])


def test_a_look_is_at_heads_of_indexes(crowded: Engine, connect: Connect) -> None:
    plans = plans_of(connect(), LOOK, [crowded.queue])
    scans = {(node.label, relation) for plan in plans for node, relation in plan.scans() if relation in GROWING}

    assert {relation for _, relation in scans} == {"ready", "scheduled", "lease", "lane_hint", "dead_letter"}
    assert {label for label, _ in scans} <= {"INDEXSCAN", "INDEXONLYSCAN"}
    assert [scan for plan in plans for scan in plan.whole_scans() if scan.split()[-1] in GROWING] == []


def test_a_look_reads_no_table_whole_while_statistics_know_one_dead_letter(
    make_engine: Callable[..., Engine], connect: Connect
) -> None:
    """The plan stays while many more arrive, until the next analyze."""
    made = make_engine()
    session = connect(autocommit=False)
    session.execute("truncate signalbox.dead_letter")
    Engine(session, made.queue, made.queue_id).die("dead")
    session.execute("analyze signalbox.dead_letter")

    plans = plans_of(session, LOOK, [made.queue])

    assert [scan for plan in plans for scan in plan.whole_scans() if scan.split()[-1] in GROWING] == []
    session.rollback()


def test_a_look_costs_the_same_however_much_is_held(crowded: Engine, connect: Connect) -> None:
    """The first read loads the catalogs, and so does a read after an automatic analyze."""
    session = connect()

    def blocks() -> int:
        look = session.execute(f"explain (analyze, buffers, format json) {LOOK}".encode(), [[crowded.queue]]).fetchone()
        assert look is not None
        plan = look[0][0]["Plan"]
        return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])

    assert min(blocks() for _ in range(5)) < 100


def test_nothing_that_is_not_over_is_news(crowded: Engine) -> None:
    assert crowded.rows(LOOK, [crowded.queue]) == []


def test_each_kind_of_news_is_seen(make_engine: Callable[..., Engine]) -> None:
    ready, due, expired, waiting, nothing = (make_engine(mode="fifo" if n == 3 else "standard") for n in range(5))
    ready.send("ready")
    due.send("due", delay_seconds=0.001)
    expired.send("expired")
    expired.receive(1, visibility_timeout=0)
    waiting.send("first", group_id="one")
    waiting.send("second", group_id="one")
    (first,) = waiting.receive()
    waiting.ack(first[1])  # leaves a hint that its group has room
    ready_and_dead = make_engine()
    ready_and_dead.die("dead")
    names = [engine.queue for engine in (ready, due, expired, waiting, nothing)]

    def news() -> set[str]:
        return {row[0] for row in ready.rows(LOOK, [*names, f"{ready_and_dead.queue}-dlq", "nowhere"])}

    ready.value("select pg_sleep(0.002)")
    assert news() == {*names[:4], f"{ready_and_dead.queue}-dlq"}
