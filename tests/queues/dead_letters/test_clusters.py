"""Clusters are counted by what dies and what leaves the dead, whichever way it goes, never by looking through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine import Engine
from tests.queues.dead_letters.clusters import counted, died, fold, recounted

MakeEngine = Callable[..., Engine]


def agree(engine: Engine) -> dict[Any, int]:
    """Dead letters by fingerprint: counters and rows agree, before and after an aggregation."""
    before = counted(engine)
    assert before == recounted(engine)
    fold(engine)
    assert counted(engine) == before
    return before


def test_deaths_by_rejection_and_by_failure_are_counted(engine: Engine, make_engine: MakeEngine) -> None:
    engine.die(1, error_class="A", error="order 1")
    engine.die(2, error_class="A", error="order 2")
    engine.die(3, error_class="B")
    failing = make_engine(max_receives=1)
    failing.send(1)
    assert failing.nack(failing.receive_one()[1], error_class="C") == "dead"

    assert sorted(agree(engine).values()) == [1, 2]
    assert list(agree(failing).values()) == [1]


def test_a_death_by_expired_leases_is_counted(make_engine: MakeEngine) -> None:
    engine = make_engine(max_receives=1)
    for number in range(3):
        engine.send(number)
    engine.receive(3, visibility_timeout=0)
    engine.receive(3)

    assert list(agree(engine).values()) == [3]


def test_redriving_and_deleting_take_away(engine: Engine) -> None:
    letters = [engine.die(number, error_class="A") for number in range(4)]
    agree(engine)

    engine.value("select count(*) from signalbox.redrive(%s)", letters[:1])
    assert list(agree(engine).values()) == [3]
    engine.value("select signalbox.delete_dead_letters(%s)", letters[1:2])
    assert list(agree(engine).values()) == [2]


def test_a_purge_of_the_dead_takes_away(engine: Engine) -> None:
    engine.die(1)
    engine.die(2)

    assert engine.value("select signalbox.purge(%s, states => '{dead}')", f"{engine.queue}-dlq") == 2
    assert agree(engine) == {}
    assert list(died(engine).values()) == [2]


def test_a_consumer_of_the_dead_letter_queue_takes_away(engine: Engine, connect: Any) -> None:
    engine.die(1, error_class="A")
    holder = Engine(connect(), f"{engine.queue}-dlq", 0)

    assert holder.ack(holder.receive_one()[1]) == [True]
    assert agree(engine) == {}


def test_what_expires_as_a_dead_letter_takes_away(engine: Engine) -> None:
    engine.die(1)
    engine.value("select signalbox.configure_queue(%s, '{\"retention_seconds\": 60}')", f"{engine.queue}-dlq")
    engine.connection.execute(
        "update signalbox.dead_letter set died_at = died_at - interval '1 hour' where source_queue_id = %s",
        [engine.queue_id],
    )

    assert engine.value("select signalbox.expire_messages()") >= 1
    assert agree(engine) == {}


def test_a_queue_that_is_gone_leaves_the_counts_right(engine: Engine) -> None:
    engine.die(1, error_class="A")
    with engine.connection.transaction(force_rollback=True):
        engine.connection.execute(
            "delete from signalbox.queue where name in (%s, %s)", [engine.queue, f"{engine.queue}-dlq"]
        )
        assert counted(engine) == recounted(engine)
        engine.connection.execute("delete from signalbox.dead_letter where source_queue_id = %s", [engine.queue_id])
        assert counted(engine) == recounted(engine) == {}


def test_what_is_rolled_back_was_never_counted(engine: Engine) -> None:
    letter = engine.die(1)
    with engine.connection.transaction(force_rollback=True):
        engine.die(2)
        engine.value("select signalbox.delete_dead_letters(%s)", [letter])

    assert list(agree(engine).values()) == [1]


def test_what_is_put_back_did_not_die_again(engine: Engine) -> None:
    letter = engine.die(1, error_class="A")
    removal = engine.value("select signalbox.open_trash_batch(3600)")
    engine.value("select signalbox.delete_dead_letters(array[%s::bigint], %s)", letter, removal)
    assert agree(engine) == {}

    assert engine.value("select restored from signalbox.restore(%s)", removal) == 1

    assert list(agree(engine).values()) == [1]
    assert list(died(engine).values()) == [1]


def test_a_cluster_knows_what_it_is_of(engine: Engine) -> None:
    stack = '  File "/app/pay.py", line 7, in charge\n'
    engine.die(1, error_class="Declined", error=f"card {engine.queue}", details=stack)
    (fingerprint,) = counted(engine)
    fold(engine)

    row = engine.rows(
        "select reason, error_class, error, frame, deaths, dead, first_seen = last_seen"
        " from signalbox.failure_cluster where fingerprint = %s",
        fingerprint,
    )
    assert row == [("rejected", "Declined", f"card {engine.queue}", "charge (pay.py)", 1, 1, True)]
    buckets = engine.rows(
        "select queue_id, deaths, bucket_at <= now() and bucket_at > now() - interval '11 minutes'"
        " from signalbox.failure_cluster_bucket where fingerprint = %s",
        fingerprint,
    )
    assert buckets == [(engine.queue_id, 1, True)]


def test_dying_again_of_the_same_after_a_redrive_is_noted(engine: Engine) -> None:
    letter = engine.die(1, error_class="A", error=engine.queue)
    other = engine.die(2, error_class="B", error=engine.queue)
    engine.value("select count(*) from signalbox.redrive(%s, redrive_id => 712345678)", [letter, other])
    for row in engine.receive(2):
        engine.nack(row[1], reason="rejected", error_class="A", error=engine.queue)
    fold(engine)

    rows = engine.rows(
        "select error_class, again_redrive_id, again_at = c.last_seen from signalbox.failure_cluster c"
        " join signalbox.failure_cluster_queue q using (fingerprint) where q.queue_id = %s order by 1",
        engine.queue_id,
    )
    assert [row[:2] for row in rows] == [("A", 712345678), ("B", None)]  # the second died of something new


def test_what_is_over_is_forgotten_after_two_weeks(engine: Engine) -> None:
    engine.die(1, error_class="gone")
    kept = engine.die(2, error_class="kept")
    letters = engine.rows(
        "select dead_letter_id from signalbox.dead_letter where source_queue_id = %s and dead_letter_id <> %s",
        engine.queue_id,
        kept,
    )
    fingerprints = [
        row[0]
        for row in engine.rows(
            "select fingerprint from signalbox.dead_letter where source_queue_id = %s order by 1", engine.queue_id
        )
    ]
    engine.value("select signalbox.delete_dead_letters(%s)", [row[0] for row in letters])
    fold(engine)
    for table in ("failure_cluster", "failure_cluster_queue"):
        engine.connection.execute(
            f"update signalbox.{table} set last_seen = last_seen - interval '15 days'"
            " where fingerprint = any(%s)".encode(),
            [fingerprints],
        )
    engine.connection.execute(
        "update signalbox.failure_cluster_bucket set bucket_at = bucket_at - interval '15 days'"
        " where fingerprint = any(%s)",
        [fingerprints],
    )

    while not engine.value("select signalbox.forget_failure_groups()"):
        pass

    left = engine.rows(
        "select error_class, dead from signalbox.failure_cluster where fingerprint = any(%s)", fingerprints
    )
    assert left == [("kept", 1)]
    assert engine.rows("select 1 from signalbox.failure_cluster_bucket where fingerprint = any(%s)", fingerprints) == []
    assert list(agree(engine).values()) == [1]


def test_a_hundred_causes_in_one_transaction_are_a_hundred_clusters(engine: Engine) -> None:
    with engine.connection.transaction():
        for number in range(100):
            engine.die(number, error_class=f"Class{number}")

    assert sorted(agree(engine).values()) == [1] * 100


@pytest.mark.parametrize("fingerprint", ["v1:0123456789abcdef"])
def test_letters_with_an_older_fingerprint_count_on(engine: Engine, fingerprint: str) -> None:
    letter = engine.die(1)
    with engine.connection.transaction():
        engine.connection.execute(
            "create temporary table aside on commit drop as"
            f" select * from signalbox.dead_letter where dead_letter_id = {letter}".encode()
        )
        engine.connection.execute("delete from signalbox.dead_letter where dead_letter_id = %s", [letter])
        engine.connection.execute("update aside set fingerprint = %s", [fingerprint])
        engine.connection.execute("insert into signalbox.dead_letter select * from aside")

    assert agree(engine) == {fingerprint: 1}
    engine.value("select signalbox.delete_dead_letters(%s)", [letter])
    assert agree(engine) == {}
