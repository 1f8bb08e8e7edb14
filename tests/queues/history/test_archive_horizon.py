"""History waits for the archive where there is one, and for nothing where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.engine import Engine


@pytest.fixture
def trying(engine: Engine) -> Iterator[Engine]:
    """Archive within a transaction that is rolled back: history of other tests is not kept for it."""
    engine.connection.execute("begin")
    engine.connection.execute("delete from signalbox.archive_horizon")
    yield engine
    engine.connection.execute("rollback")


def unneeded(engine: Engine) -> set[str]:
    return {row[0] for row in engine.rows("select name from signalbox._unneeded_history()")}


def end_long_ago(engine: Engine, txid: int) -> None:
    engine.value("select signalbox._ensure_period('settled', '2020-03-01Z', '2020-03-02Z', 'YYYYMMDD')")
    engine.value("select signalbox._ensure_period('failure', '2020-03-01Z', '2020-03-02Z', 'YYYYMMDD')")
    engine.connection.execute(
        "insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms, txid)"
        " values (%s, '2020-03-01 12:00Z', '{1}', '{1}', '{1}', %s)",
        [engine.queue_id, txid],
    )
    engine.connection.execute(
        "insert into signalbox.failure (queue_id, message_id, receive_count, failed_at, reason, fingerprint, txid)"
        " values (%s, 1, 1, '2020-03-01 12:00Z', 'rejected', 'f', %s)",
        [engine.queue_id, txid],
    )


DAYS = {"settled_20200301", "failure_20200301"}


def test_without_an_archive_no_day_waits(trying: Engine) -> None:
    end_long_ago(trying, 5)

    assert unneeded(trying) >= DAYS


def test_a_day_waits_until_the_horizon_is_beyond_it(trying: Engine) -> None:
    end_long_ago(trying, 5)
    trying.value("select low from signalbox.hold_for_archive()")

    assert not unneeded(trying) & DAYS
    assert trying.value("select signalbox.move_archive_horizon(0, 5)")
    assert not unneeded(trying) & DAYS
    assert trying.value("select signalbox.move_archive_horizon(5, 6)")
    assert unneeded(trying) >= DAYS


def test_a_day_no_longer_waits_when_the_archive_is_released(trying: Engine) -> None:
    end_long_ago(trying, 5)
    trying.value("select low from signalbox.hold_for_archive()")

    assert trying.value("select signalbox.release_archive()")
    assert unneeded(trying) >= DAYS


def test_an_archive_that_never_worked_and_is_not_heard_of_any_more_holds_nothing(trying: Engine) -> None:
    """Archive whose first run was killed and never restarted."""
    end_long_ago(trying, 5)
    trying.value("select low from signalbox.hold_for_archive()")
    assert not unneeded(trying) & DAYS

    hour = "update signalbox.archive_horizon set tried_at = tried_at - interval '61 minutes' returning 1"
    trying.value(hour)
    assert unneeded(trying) >= DAYS
    trying.value("select low from signalbox.hold_for_archive()")  # it is at work again
    assert not unneeded(trying) & DAYS
    trying.value("select signalbox.move_archive_horizon(0, 5)")
    assert trying.value("select tried_at is null from signalbox.archive_horizon")
    assert not unneeded(trying) & DAYS


def test_the_horizon_moves_only_from_where_it_is(trying: Engine) -> None:
    trying.value("select low from signalbox.hold_for_archive()")

    assert not trying.value("select signalbox.move_archive_horizon(3, 9)")
    assert trying.value("select signalbox.move_archive_horizon(0, 9)")
    assert not trying.value("select signalbox.move_archive_horizon(0, 9)")
    assert trying.value("select low from signalbox.hold_for_archive()") == 9


def test_the_horizon_never_passes_a_transaction_under_way(
    trying: Engine, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    slow = connect(autocommit=False)
    row = slow.execute("select pg_current_xact_id()::text::bigint").fetchone()
    assert row is not None

    assert trying.value("select high from signalbox.hold_for_archive()") <= row[0]


def test_the_body_of_what_ended_is_kept_until_the_archive_has_it(trying: Engine) -> None:
    message_id = trying.send({"kept": True})
    segment = (message_id - 1) // 1_000_000
    trying.ack(trying.receive_one()[1])
    kept = "select count(*) from signalbox.message_kept where message_id = %s"
    trying.value("select signalbox.keep_live_bodies(%s)", segment)
    assert trying.value(kept, message_id) == 0
    trying.value("select low from signalbox.hold_for_archive()")

    trying.value("select signalbox.keep_live_bodies(%s)", segment)
    trying.value(
        "update signalbox.message_kept set kept_at = '2020-01-01Z' where message_id = %s returning 1", message_id
    )
    trying.value("select signalbox.drop_kept()")
    assert trying.value(kept, message_id) == 1

    trying.value("select signalbox.move_archive_horizon(0, 1 + pg_current_xact_id()::text::bigint)")
    trying.value("select signalbox.drop_kept()")
    assert trying.value(kept, message_id) == 0


def test_a_restore_elsewhere_keeps_archived_and_unarchived_rows_apart(trying: Engine) -> None:
    end_long_ago(trying, 1_000_000_005)
    trying.value("select low from signalbox.hold_for_archive()")
    trying.value("select signalbox.move_archive_horizon(0, 1000000010)")
    trying.send("not archived: the ids restart here")
    trying.ack(trying.receive_one()[1])
    with pytest.raises(psycopg.Error, match="ahead of this database"), trying.connection.transaction():
        trying.value("select low from signalbox.hold_for_archive()")

    trying.value("select signalbox._rebase_counters()")

    low, _ = trying.rows("select low, high from signalbox.hold_for_archive()")[0]
    ended = "select count(*) from signalbox.settled where queue_id = %s and (txid < %s) = (settled_at < '2021-01-01Z')"
    assert low == 1
    assert trying.value(ended, trying.queue_id, low) == 2
