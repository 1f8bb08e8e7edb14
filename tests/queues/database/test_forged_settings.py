"""Every session can set any setting: the engine believes none but those that it has signed in the same transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.queues.control.quotas import refused, send_batch
from tests.streams import make_log

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]


@pytest.mark.parametrize("forged", ["{queue_id}", "admitted {queue_id}", "t"])
def test_a_forged_setting_admits_no_send(make_engine: MakeEngine, forged: str) -> None:
    engine = make_engine(max_backlog_messages=2)
    engine.value("select set_config('signalbox.admitted', %s, false)", forged.format(queue_id=engine.queue_id))
    engine.send(1)
    engine.send(2)

    with pytest.raises(psycopg.Error) as caught:
        engine.send(3)
    assert caught.value.sqlstate == "SB429"
    assert refused(send_batch, engine, [3])["reason"] == "backlog"
    assert refused(send_batch, engine, [3], priorities=[1])["reason"] == "backlog"


def test_a_signature_holds_for_its_transaction_and_its_note_alone(engine: Engine) -> None:
    sign = "select signalbox._sign('admitted 1'), signalbox._sign('admitted 2')"
    (first,) = engine.rows(sign)
    (second,) = engine.rows(sign)

    assert len({*first, *second}) == 4
    with engine.connection.transaction():
        assert engine.rows(sign) == engine.rows(sign)


def test_no_readers_skip_what_an_appender_commits_late(connect: Connect) -> None:
    log = make_log(connect(), partitions=1)
    log.group()
    slow = log.on(connect(autocommit=False))
    entered = f"{log.value('select signalbox._partition_class(%s, 0)', log.stream_id)};"
    for forged in (entered, f" {entered}", f"signature {entered}"):
        slow.value("select set_config('signalbox.appending', %s, false)", forged)
        slow.append("late")
        log.append("after")

        assert log.consume() == []
        slow.connection.commit()
        assert log.consume() == ["late", "after"]


def test_an_appender_takes_one_lock_of_each_partition(connect: Connect) -> None:
    """The session's own note is trusted: a long transaction does not fill the lock table."""
    log = make_log(connect(autocommit=False), partitions=2)
    for n in range(20):
        log.append(n)

    held = "select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'advisory' and mode = 'ShareLock'"
    assert log.value(held) == 2


def test_no_death_is_hidden(engine: Engine) -> None:
    engine.value("select set_config('signalbox.restoring', 'on', false)")
    engine.die("poison")

    assert engine.value("select sum(deaths) from signalbox.cluster_delta where queue_id = %s", engine.queue_id) == 1
