"""State and outcome of a message, found by its id alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.queues.receiving.plans import plans_of

Connect = Callable[..., psycopg.Connection[Any]]


def outcome(engine: Engine, message_id: int) -> tuple[Any, ...] | None:
    """(queue, status, outcome, was it settled?), or None when it is unknown."""
    rows = engine.rows(
        "select queue, status, outcome, settled_at is not null from signalbox.message_outcome(%s)", message_id
    )
    assert len(rows) <= 1
    return rows[0] if rows else None


def test_a_message_is_followed_through_its_life(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_receives=2)
    message_id = engine.send("x", delay_seconds=100)
    assert outcome(engine, message_id) == (engine.queue, "pending", None, False)

    engine.connection.execute(
        "update signalbox.scheduled set due_at = now() - interval '1 hour' where message_id = %s", [message_id]
    )
    engine.value("select signalbox.return_and_promote(array[%s])", engine.queue_id)
    assert outcome(engine, message_id) == (engine.queue, "pending", None, False)

    handle = engine.receive_one()[1]
    assert outcome(engine, message_id) == (engine.queue, "processing", None, False)

    engine.nack(handle, delay_seconds=100)
    assert outcome(engine, message_id) == (engine.queue, "failed", None, False)

    engine.connection.execute(
        "update signalbox.scheduled set due_at = now() - interval '1 hour' where message_id = %s", [message_id]
    )
    engine.nack(engine.receive_one()[1])
    assert outcome(engine, message_id) == (engine.queue, "dead", "dead", True)

    redrive(engine, message_id)
    assert outcome(engine, message_id) == (engine.queue, "pending", None, False)

    engine.ack(engine.receive_one()[1])
    assert outcome(engine, message_id) == (engine.queue, "completed", "acked", True)


def redrive(engine: Engine, message_id: int, target: str | None = None) -> None:
    engine.rows(
        "select * from signalbox.redrive((select array_agg(dead_letter_id) from signalbox.dead_letter"
        " where message_id = %s), %s)",
        message_id,
        target,
    )


@pytest.mark.parametrize("state", ["ready", "scheduled", "leased", "waiting", "dead"])
def test_a_purged_message_says_so(make_engine: Callable[..., Engine], state: str) -> None:
    engine = make_engine(group_max_in_flight=1)
    queue, options = engine.queue, {"delay_seconds": 100} if state == "scheduled" else {}
    if state == "waiting":
        engine.send("ahead", group_id="g")
        engine.receive_one()
        options = {"group_id": "g"}
    message_id = engine.send("x", **options)
    if state in {"leased", "dead"}:
        handle = engine.receive_one()[1]
    if state == "dead":
        engine.nack(handle, reason="rejected")
        queue += "-dlq"

    engine.value("select signalbox.purge(%s, states => array[%s])", queue, state)

    assert outcome(engine, message_id) == (engine.queue, "purged", "purged", True)


def test_an_expired_message_says_so(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(retention_seconds=60)
    message_id = engine.send()
    engine.connection.execute(
        "update signalbox.ready set ready_at = ready_at - interval '1 hour' where queue_id = %s", [engine.queue_id]
    )
    engine.value("select signalbox.expire_messages()")

    assert outcome(engine, message_id) == (engine.queue, "expired", "expired", True)


def test_one_that_waits_in_its_lane_is_pending(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(mode="fifo")
    engine.send("first")
    message_id = engine.send("second")

    assert outcome(engine, message_id) == (engine.queue, "pending", None, False)


def test_one_redriven_elsewhere_is_found_there(make_engine: Callable[..., Engine]) -> None:
    engine, other = make_engine(), make_engine()
    engine.die("x")
    message_id = engine.value(
        "select message_id from signalbox.dead_letter where source_queue_id = %s", engine.queue_id
    )
    redrive(engine, message_id, other.queue)
    assert outcome(engine, message_id) == (other.queue, "pending", None, False)

    other.ack(other.receive_one()[1])
    assert outcome(engine, message_id) == (other.queue, "completed", "acked", True)


def test_a_dead_letter_that_went_on_as_another_message_stays_dead(engine: Engine) -> None:
    engine.die("x")
    message_id = engine.value(
        "select message_id from signalbox.dead_letter where source_queue_id = %s", engine.queue_id
    )
    ((new_id, handle),) = engine.rows(
        "select message_id, receipt_handle from signalbox.receive(%s, 10)", f"{engine.queue}-dlq"
    )
    assert outcome(engine, message_id) == (engine.queue, "dead", "dead", True)
    assert outcome(engine, new_id) == (f"{engine.queue}-dlq", "processing", None, False)

    engine.ack(handle)
    assert outcome(engine, new_id) == (f"{engine.queue}-dlq", "completed", "acked", True)


@pytest.mark.parametrize("message_id", [0, -1, 999_999_999_999, None])
def test_nothing_is_known_of_an_id_that_never_was(engine: Engine, message_id: int | None) -> None:
    assert outcome(engine, message_id) is None  # type: ignore[arg-type]


def test_beyond_retention_a_ticket_is_asked_for(engine: Engine) -> None:
    """History of a day goes before the log that names its messages: the one must not make the others pending."""
    gone, ready = engine.send("gone"), engine.send("ready")
    engine.receive_one()
    engine.connection.execute("delete from signalbox.lease where queue_id = %s", [engine.queue_id])
    engine.connection.execute(
        "update signalbox.message set sent_at = sent_at - interval '1 year' where queue_id = %s", [engine.queue_id]
    )

    assert outcome(engine, gone) is None
    assert outcome(engine, ready) == (engine.queue, "pending", None, False)


BATCHES = 4_000
FILL = (
    "select count(signalbox._ensure_segment((%(first)s + s) * 1000000 + 1)) from generate_series(0, 11) s",
    """
    select count(signalbox._ensure_period('settled', d, d + interval '1 day', 'YYYYMMDD'))
    from generate_series(date_trunc('day', now(), 'UTC') - interval '20 days', now(), interval '1 day') d
    """,
    """
    insert into signalbox.message (message_id, queue_id, payload, priority, sent_at)
    select (%(first)s + b %% 12) * 1000000 + b / 12 * 10 + 1, %(queue_id)s, '1', 0,
      now() - interval '20 days' + b * interval '7 minutes'
    from generate_series(0, %(batches)s - 1) b
    """,
    """
    insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms, results)
    select %(queue_id)s, now() - interval '20 days' + b * interval '7 minutes' + interval '1 hour',
      array(select (%(first)s + b %% 12) * 1000000 + b / 12 * 10 + one from generate_series(1, 10) one),
      array_fill(1::smallint, array[10]), array_fill(1, array[10]), array_fill(to_jsonb(b), array[10])
    from generate_series(0, %(batches)s - 1) b
    """,
    """
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
    select %(queue_id)s, 0, 0, now() + n * interval '1 microsecond', (%(first)s + 12) * 1000000 - n
    from generate_series(1, 100000) n
    """,
    "analyze signalbox.ready",
    "analyze signalbox.settled",
    "analyze signalbox.message",
    "select signalbox.summarize_history()",
)


@pytest.fixture(scope="module")
def history(dsn: str) -> Iterator[tuple[Engine, int]]:
    """A queue with much that is ready, and three weeks of history over twelve segments of the log."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        engine = Engine(connection, "history", 0)
        engine.queue_id = engine.value("select signalbox.create_queue('history', '{\"retention_seconds\": 1209600}')")
        engine.value("select signalbox.ensure_partitions()")
        first = engine.value("select signalbox.publish_log_end() / 1000000 + 100")
        for statement in FILL:
            connection.execute(statement, {"queue_id": engine.queue_id, "first": first, "batches": BATCHES})
        yield engine, first
        for table in ("ready", "settled", "message"):
            connection.execute(f"delete from signalbox.{table} where queue_id = %s", [engine.queue_id])


def test_a_settled_message_is_found_by_its_id_in_weeks_of_history(history: tuple[Engine, int]) -> None:
    engine, first = history

    for batch in (0, 1, 1_700, BATCHES - 1):
        message_id = (first + batch % 12) * 1_000_000 + batch // 12 * 10 + 1
        assert engine.rows("select status, outcome, result from signalbox.message_outcome(%s)", message_id) == [
            ("completed", "acked", batch)
        ]


def test_no_table_is_read_whole_for_it(history: tuple[Engine, int], connect: Connect) -> None:
    _, first = history
    session = connect()

    plans = plans_of(session, "select status from signalbox.message_outcome(%s)", first * 1_000_000 + 1)

    read = {relation for plan in plans for _, relation in plan.scans()}
    assert {"lease", "scheduled", "waiting", "dead_letter"} <= read
    assert any(relation.startswith("settled_2") for relation in read)
    assert any(relation.startswith("message_1") for relation in read)
    big = [scan for plan in plans for scan in plan.whole_scans() if scan.split()[1] not in {"queue"}]
    assert big == []


def test_it_touches_few_pages_of_the_log_and_of_history(history: tuple[Engine, int], connect: Connect) -> None:
    _, first = history
    session = connect()
    look = "select status from signalbox.message_outcome(%s)"
    session.execute(look, [first * 1_000_000 + 1])

    with session.transaction():
        session.execute(look, [(first + 5) * 1_000_000 + 1])
        row = session.execute(
            "select sum(pg_stat_get_xact_tuples_fetched(c.oid) + pg_stat_get_xact_tuples_returned(c.oid))"
            " from pg_class c where c.relname = 'ready' or c.relname ~ '^message_\\d+$' and c.relkind = 'r'"
        ).fetchone()

    assert row is not None
    assert row[0] <= 2  # one row of the log, and none that is ready
