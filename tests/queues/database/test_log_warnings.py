"""Trouble is said in the database's own log: a line for a queue and kind, and not again for a while."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from queues.database.embedded import EmbeddedPostgres
from tests.engine import Engine

PROJECT = Path(__file__).resolve().parents[3]
MakeEngine = Callable[..., Engine]


def said(engine: Engine) -> list[str]:
    """Log lines about this queue after a check for trouble."""
    lines: list[str] = []

    def note(notice: psycopg.errors.Diagnostic) -> None:
        assert notice.severity == "WARNING"
        lines.append(notice.message_primary or "")

    engine.connection.add_notice_handler(note)
    engine.value("select signalbox.log_warnings()")
    engine.connection.remove_notice_handler(note)
    mine = f"signalbox: queue {engine.queue}: "
    return [line.removeprefix(mine) for line in lines if line.startswith(mine)]


def let_time_pass(engine: Engine) -> None:
    """The last lines were written longer ago than the queue's pause between two."""
    engine.connection.execute(
        "update signalbox.logged_warning set logged_at = logged_at - interval '1 hour' where queue_id = %s",
        [engine.queue_id],
    )


def let_leases_expire(engine: Engine, count: int) -> None:
    for number in range(count):
        engine.send(number)
    engine.receive(count, visibility_timeout=0)
    engine.value("select signalbox.return_and_promote(array[%s])", engine.queue_id)
    engine.value("select signalbox.purge(%s)", engine.queue)


@pytest.fixture
def set_clock(engine: Engine) -> Iterator[Callable[[str], None]]:
    """Set the clock that a process of upkeep moves, to some time before now; without a line of this hour."""
    before = engine.value("select last_value from signalbox.clock")
    engine.connection.execute("delete from signalbox.logged_warning where queue_id = 0")
    microseconds = "(extract(epoch from clock_timestamp() - %s::interval) * 1000000)::bigint"
    yield lambda ago: engine.value(f"select setval('signalbox.clock', {microseconds})", ago)
    engine.value("select setval('signalbox.clock', %s)", before)


def test_claim_floors_that_nothing_moves_are_mentioned_once_an_hour(
    engine: Engine, set_clock: Callable[[str], None]
) -> None:
    lines: list[str] = []
    engine.connection.add_notice_handler(lambda notice: lines.append(notice.message_primary or ""))
    mentioned = "signalbox: no process moves the claim floors"

    for ago, expected in (("0", 0), ("1 minute", 1), ("1 minute", 1)):
        set_clock(ago)
        engine.value("select signalbox.log_warnings()")
        assert sum(line.startswith(mentioned) for line in lines) == expected


def test_a_queue_in_order_is_not_mentioned(engine: Engine) -> None:
    engine.send("x")
    engine.ack(engine.receive_one()[1])

    assert said(engine) == []


def test_expired_leases_are_said_once_and_then_counted_on(engine: Engine) -> None:
    let_leases_expire(engine, 3)
    (line,) = said(engine)
    assert line.startswith("3 leases expired in the last ")
    let_leases_expire(engine, 2)
    assert said(engine) == []

    let_time_pass(engine)
    (line,) = said(engine)
    assert line.startswith("2 leases expired in the last ")
    let_time_pass(engine)
    assert said(engine) == []


def test_the_dead_are_said_apart_from_what_expired(make_engine: MakeEngine) -> None:
    engine = make_engine(max_receives=1, alert_oldest_age_seconds=10)
    engine.die("rejected")
    let_leases_expire(engine, 1)

    expired, dead = sorted(line.split(" in the last ")[0] for line in said(engine))
    assert (expired, dead) == ("1 leases expired", "2 messages died")


def test_unclaimed_messages_are_logged_repeatedly(make_engine: MakeEngine) -> None:
    engine = make_engine(alert_oldest_age_seconds=60)
    engine.send("x")
    assert said(engine) == []
    engine.connection.execute(
        "update signalbox.ready set ready_at = ready_at - interval '100 s' where queue_id = %s", [engine.queue_id]
    )

    for _ in range(2):
        (line,) = said(engine)
        assert line.startswith("a message has not been claimed for 1")
        assert line.endswith(" s, 60 s are allowed")
        assert said(engine) == []
        let_time_pass(engine)
    engine.value("select signalbox.configure_queue(%s, '{\"paused\": true}')", engine.queue)
    assert said(engine) == []


def test_a_queue_may_be_left_out(make_engine: MakeEngine) -> None:
    engine = make_engine(warn_every_seconds=0)
    engine.die("rejected")

    assert said(engine) == []


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="sb-"))
    yield folder
    EmbeddedPostgres(folder).stop()
    shutil.rmtree(folder)


@pytest.mark.proof
def test_the_line_is_in_the_servers_log(home: Path) -> None:
    """Log lines of upkeep as an installation runs it, on a server with a readable log."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {"SIGNALBOX_HOME": str(home), "HTTPS_ONLY": "false"}
    server = EmbeddedPostgres(home)
    with psycopg.connect(server.ensure_running(), autocommit=True) as connection:
        command: list[Any] = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
        subprocess.run(command, env=environment, cwd=PROJECT, check=True)
        connection.execute("select signalbox.create_queue('orders')")
        connection.execute("select signalbox.send('orders', '1')")
        row = connection.execute("select receipt_handle from signalbox.receive('orders')").fetchone()
        assert row is not None
        connection.execute("select signalbox.nack(%s, reason => 'rejected')", row)
        connection.execute("select signalbox.upkeep('log_warnings')")

    assert (
        "WARNING:  signalbox: queue orders: 1 messages died in the last " in (home / "postgres/server.log").read_text()
    )
