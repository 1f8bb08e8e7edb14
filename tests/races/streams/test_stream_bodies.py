"""Large bodies of streams against their collector: what an append, a feeding or a read points to is not removed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import psycopg
import pytest

from queues.upkeep.stream_upkeep import StreamChores
from tests.engine import Engine
from tests.races.naive import SCHEMA, NaiveVerbs
from tests.races.sessions import finish, start, until_waiting
from tests.races.streams.test_stream_retention import age
from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]

CLAIM = "select signalbox.claim_body(%s, 300000)"
APPEND = (
    "select partition, position from {}.append_batch_large(%s, array['null']::jsonb[], array[%s]::bytea[],"
    " keys => array[%s]::text[])"
)
READ = "select position, payload, body from signalbox.read_stream_with_bodies(%s, 'g', 'm')"
OLD = "update signalbox.large_body set last_claimed_at = '-infinity' where sha256 = %s returning 1"
MOVE = """
update signalbox.stream_body_pointer set appended_at = appended_at - interval '2 hours' where stream_id = %s
"""
HOUR = 3600


@pytest.fixture
def log(connect: Connect) -> Log:
    made = make_log(connect(), partitions=1, retention_seconds=HOUR, compaction=False)
    made.group()
    return made


@pytest.fixture
def sha256(log: Log) -> bytes:
    return hashlib.sha256(log.name.encode()).digest()


def append(log: Log, sha256: bytes, key: str | None = None, schema: str = "signalbox") -> Any:
    return log.rows(APPEND.format(schema), log.name, sha256, key)[0]


def claimed(log: Log, sha256: bytes, key: str | None = None) -> None:
    """Append with a claim that is old by now."""
    log.value(CLAIM, sha256)
    append(log, sha256, key)
    log.value(OLD, sha256)


def collected(session: Log, sha256: bytes, grace_seconds: float = HOUR) -> bool:
    """The collector at this body: whether it may go. An open session holds its row; another only looks."""
    before = (int.from_bytes(sha256) - 1).to_bytes(32)
    looks = session.connection.transaction(force_rollback=True) if session.connection.autocommit else nullcontext()
    with looks:
        return (sha256, True) in session.rows("select * from signalbox.drop_body(%s, %s)", grace_seconds, before)


def pointers(log: Log) -> int:
    return int(log.value("select count(*) from signalbox.stream_body_pointer where stream_id = %s", log.stream_id))


def drop_old(log: Log, connection: psycopg.Connection[Any]) -> None:
    """Let retention drop what is in the stream, pointers and all."""
    age(log)
    log.connection.execute(MOVE, [log.stream_id])
    StreamChores(connection).drop()


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_the_collector_skips_what_an_appender_has_claimed(log: Log, connect: Connect, sha256: bytes, ends: str) -> None:
    log.value(CLAIM, sha256)
    log.value(OLD, sha256)
    appender, collector = (log.on(connect(autocommit=False)) for _ in range(2))
    append(appender, sha256)

    assert not collected(collector, sha256)  # and it did not wait
    appender.connection.execute(ends)
    assert collected(collector, sha256) is (ends == "rollback")
    collector.connection.rollback()
    assert [row[2] and row[2]["bytes"] for row in log.rows(READ, log.name)] == ([300_000] if ends == "commit" else [])


def test_an_append_waits_for_the_collector_and_is_refused(
    log: Log, connect: Connect, observer: psycopg.Connection[Any], sha256: bytes
) -> None:
    log.value(CLAIM, sha256)
    log.value(OLD, sha256)
    appender, collector = log.on(connect()), log.on(connect(autocommit=False))
    assert collected(collector, sha256)  # here the object is removed

    appending = start(append, appender, sha256)
    until_waiting(observer, appender.connection)
    collector.connection.commit()
    with pytest.raises(psycopg.Error) as refused:
        finish(appending)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", "body_sha256s")
    assert log.rows(READ, log.name) == []


def test_an_append_that_does_not_hold_its_body_loses_it(
    log: Log, connect: Connect, naive: NaiveVerbs, sha256: bytes
) -> None:
    naive.install("_check_stream_bodies", {"not signalbox._hold_bodies(p_sha256s)": "false"})
    naive.install("append_batch_large", {})
    log.value(CLAIM, sha256)
    log.value(OLD, sha256)
    collector = log.on(connect(autocommit=False))
    assert collected(collector, sha256)
    append(log.on(connect()), sha256, schema=SCHEMA)
    collector.connection.commit()

    assert len(log.rows(READ, log.name)) == 1
    assert log.rows("select from signalbox.large_body where sha256 = %s", sha256) == [], "a message without its body"


def test_a_reader_can_fetch_a_body_for_a_while_after_retention(
    log: Log, connect: Connect, naive: NaiveVerbs, sha256: bytes
) -> None:
    """The claim is hours old when the segment goes; the reader has the pointer, and not yet the body."""
    claimed(log, sha256)
    assert log.rows(READ, log.name)[0][2]["sha256"] == sha256.hex()
    drop_old(log, connect())
    assert (pointers(log), collected(log, sha256)) == (0, False)
    assert collected(log, sha256, 0)

    words = {"set last_claimed_at = clock_timestamp()": "set last_claimed_at = b.last_claimed_at"}
    naive.install("_release_stream_bodies", words)
    naive.install("drop_stream_segment", {})
    claimed(log, sha256)
    age(log)
    moved = (
        "update signalbox.stream_body_pointer set appended_at = appended_at - interval '2 hours' where stream_id = %s"
    )
    log.connection.execute(moved, [log.stream_id])
    expired = log.rows("select starts_at from signalbox.expired_stream_segments() where stream_id = %s", log.stream_id)
    log.connection.execute("update signalbox.stream_segment set leaving = true where stream_id = %s", [log.stream_id])
    for (starts_at,) in expired:
        log.value(f"select {SCHEMA}.drop_stream_segment(%s, %s)", log.stream_id, starts_at)
    assert collected(log, sha256), "the body goes in the moment in which its message does"


def test_retention_waits_for_an_open_reader(log: Log, connect: Connect, sha256: bytes) -> None:
    claimed(log, sha256)
    age(log)
    log.connection.execute(MOVE, [log.stream_id])
    reader = log.on(connect(autocommit=False))
    assert len(reader.rows(READ, log.name)) == 1
    StreamChores(connect()).drop()
    assert (pointers(log), collected(log, sha256, 0)) == (1, False)

    reader.connection.rollback()
    StreamChores(connect()).drop()
    assert (pointers(log), log.rows(READ, log.name)) == (0, [])


def feed_open(log: Log, engine: Engine, connect: Connect, schema: str = "signalbox") -> Log:
    """Feed the queue in a transaction that stays open; the stream then loses the message, and the body its claim."""
    group_id = log.value(
        "select group_id from signalbox.consumer_group where stream_id = %s and queue_id = %s",
        log.stream_id,
        engine.queue_id,
    )
    feeder = log.on(connect(autocommit=False))
    assert feeder.value(f"select {schema}._feed_share(%s, 1)", group_id) == 1
    return feeder


def delete_row(log: Log) -> None:
    """Delete the message as compaction does, with its pointer, however young the claim."""
    log.connection.execute("delete from signalbox.stream_message where stream_id = %s", [log.stream_id])
    log.value("select signalbox._release_stream_bodies(%s, '{0}', '{1}')", log.stream_id)


def test_the_collector_skips_what_is_being_fed(log: Log, engine: Engine, connect: Connect, sha256: bytes) -> None:
    log.group("feed", "beginning", queue=engine.queue)
    claimed(log, sha256)
    feeder = feed_open(log, engine, connect)
    delete_row(log)

    assert not collected(log, sha256, 0)
    feeder.connection.commit()
    assert not collected(log, sha256, 0)
    assert engine.value("select body ->> 'sha256' from signalbox.receive(%s)", engine.queue) == sha256.hex()
    assert log.rows(READ, log.name) == []


def test_a_feeding_that_does_not_hold_the_body_loses_it(
    log: Log, engine: Engine, connect: Connect, naive: NaiveVerbs, sha256: bytes
) -> None:
    naive.install("_point_to_body", {"where b.sha256 = p_sha256 for key share": "where b.sha256 = p_sha256"})
    for verb in ("_send_message", "send_batch", "_feed_share"):
        naive.install(verb, {})
    log.group("feed", "beginning", queue=engine.queue)
    claimed(log, sha256)
    feeder = feed_open(log, engine, connect, SCHEMA)
    delete_row(log)

    collector = log.on(connect(autocommit=False))
    assert collected(collector, sha256, 0)
    collector.connection.commit()
    feeder.connection.commit()
    assert engine.value("select body ->> 'sha256' from signalbox.receive(%s)", engine.queue) == sha256.hex()
    assert log.rows("select from signalbox.large_body where sha256 = %s", sha256) == [], "a message without its body"


def test_compaction_frees_what_it_replaces_and_takes_no_large_body_for_a_tombstone(log: Log, sha256: bytes) -> None:
    other = hashlib.sha256(sha256).digest()
    log.value("select signalbox.configure_stream(%s, '{\"compaction\": true}')", log.name)
    for one in (sha256, other):
        claimed(log, one, "k")
    log.append(None, key="gone")

    log.value("select signalbox.compact_streams(1000, '0', '100 years')")
    log.value("select signalbox.compact_streams(1000, '0', '0')")

    assert [(row[0], row[1], row[2] and row[2]["sha256"]) for row in log.rows(READ, log.name)] == [
        (2, None, other.hex())
    ]
    assert (pointers(log), collected(log, other, 0), collected(log, sha256)) == (1, False, False)
    assert collected(log, sha256, 0)


def test_a_segment_with_many_bodies_goes_in_steps(log: Log, sha256: bytes) -> None:
    log.append("one")
    place = "select starts_at, table_name from signalbox.stream_segment where stream_id = %s order by 1 limit 1"
    starts_at, table = log.rows(place, log.stream_id)[0]
    log.connection.execute(
        "insert into signalbox.stream_body_pointer select %s, 0, n, %s, 1, %s from generate_series(1, 10000) n",
        [log.stream_id, sha256, starts_at],
    )
    parent = f"signalbox.stream_message_{log.stream_id}"
    log.connection.execute(f"alter table {parent} detach partition signalbox.{table}".encode())
    log.connection.execute("update signalbox.stream_segment set leaving = true where stream_id = %s", [log.stream_id])
    left = []
    for _ in range(2):
        log.value("select signalbox.drop_stream_segment(%s, %s)", log.stream_id, starts_at)
        left.append((pointers(log), log.value("select to_regclass(%s) is null", f"signalbox.{table}")))
    assert left == [(0, False), (0, True)]


def test_a_deleted_stream_frees_its_bodies(log: Log, sha256: bytes) -> None:
    claimed(log, sha256)
    log.value("select signalbox.configure_stream(%s, '{\"closed\": true}')", log.name)
    new_name = f"{log.name}-new"
    log.value("select signalbox.rename_stream(%s, %s)", log.name, new_name)
    assert log.rows(READ, new_name)[0][2]["sha256"] == sha256.hex()
    log.value("select signalbox.leave_group(%s, 'g', 'm')", new_name)
    log.value("select signalbox.delete_stream(%s)", new_name)
    assert (pointers(log), collected(log, sha256)) == (0, True)
