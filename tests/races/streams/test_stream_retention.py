"""Retention of streams: segments are dropped during appends and reads, and every reader learns its loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from queues.upkeep.stream_upkeep import StreamChores
from tests.races.sessions import finish, start, until_waiting
from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def log(connect: Connect) -> Log:
    """A stream of one partition that keeps an hour, with a group that reads from the beginning."""
    made = make_log(connect(), partitions=1, retention_seconds=3600)
    made.group()
    return made


def segments(log: Log) -> list[str]:
    return [
        row[0]
        for row in log.rows(
            "select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid"
            " where i.inhparent = ('signalbox.stream_message_' || %s)::regclass order by 1",
            log.stream_id,
        )
    ]


AGE = """
do $$
declare
  g record;
begin
  for g in select * from signalbox.stream_segment where stream_id = {id} order by starts_at loop
    execute format('alter table signalbox.stream_message_{id} detach partition signalbox.%I', g.table_name);
    execute format('alter table signalbox.%I rename to %I', g.table_name, g.table_name || '_aged');
    execute format('update signalbox.%I set appended_at = appended_at - $1', g.table_name || '_aged')
    using interval '2 hours';
    execute format(
      'alter table signalbox.stream_message_{id} attach partition signalbox.%I for values from (%L) to (%L)',
      g.table_name || '_aged', g.starts_at - interval '2 hours', g.ends_at - interval '2 hours'
    );
    update signalbox.stream_segment s
    set starts_at = g.starts_at - interval '2 hours', ends_at = g.ends_at - interval '2 hours',
      table_name = g.table_name || '_aged'
    where s.stream_id = g.stream_id and s.starts_at = g.starts_at;
  end loop;
  update signalbox.stream set segments_until = '-infinity' where stream_id = {id};
  perform signalbox._ensure_stream_segments({id});
end $$
"""


def age(log: Log) -> None:
    """Move present messages two hours back, into segments of that time."""
    log.connection.execute(AGE.replace("{id}", str(log.stream_id)).encode())


def drop(log: Log, connection: psycopg.Connection[Any]) -> None:
    StreamChores(connection).drop()


def test_segments_that_are_over_are_dropped_and_others_stay(log: Log, connect: Connect) -> None:
    log.append("old")
    age(log)
    log.append("new")
    assert [name for name in segments(log) if name.endswith("_aged")]

    drop(log, connect())

    assert not [name for name in segments(log) if name.endswith("_aged")]
    assert log.consume() == ["new"]


def test_a_dormant_group_holds_nothing_and_learns_its_loss(log: Log, connect: Connect) -> None:
    for n in range(5):
        log.append(n)
    log.commit(log.read()[1])
    age(log)
    log.append("new")
    assert log.numbers()[1:] == (4, 0)

    drop(log, connect())

    assert log.numbers()[1:] == (1, 3), "what is gone is no lag any more"
    assert log.consume() == ["new"]
    assert log.numbers()[1:] == (0, 3), "and stays said"


def test_what_a_member_has_read_before_the_drop_is_not_lost(log: Log, connect: Connect) -> None:
    log.append("old")
    (held,) = log.read()
    age(log)
    drop(log, connect())

    assert log.commit(held)
    assert log.numbers()[1:] == (0, 0)


def test_an_append_under_way_is_not_passed_by_the_first_position(log: Log, connect: Connect) -> None:
    log.append("old")
    age(log)
    slow = log.on(connect(autocommit=False))
    slow.append("slow")
    log.append("behind")

    drop(log, connect())  # notifies readers; the segment itself stays while its table is in use
    slow.connection.commit()
    drop(log, connect())

    assert log.numbers()[2] == 1, "only the old one is lost"
    assert log.consume() == ["slow", "behind"]


def test_a_drop_waits_for_a_reader_and_blocks_no_other(
    log: Log, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.upkeep.detaching.DETACH_PATIENCE", "80s")
    log.append("old")
    age(log)
    log.append("new")
    log.group("other")
    reader, upkeep = log.on(connect(autocommit=False)), connect()
    assert [row[3] for row in reader.read()] == ["old", "new"]

    dropping = start(drop, log, upkeep)
    until_waiting(log.connection, upkeep)
    log.append("meanwhile")
    assert [row[3] for row in log.on(connect()).read(group="other")] == ["new", "meanwhile"]
    reader.connection.rollback()
    finish(dropping)

    assert log.consume() == ["new", "meanwhile"]
    assert log.numbers()[2] == 1


def test_a_read_into_which_a_drop_falls_starts_over(log: Log, connect: Connect) -> None:
    """First positions have moved since the reader looked at them: it is given nothing, rather than what is left."""
    log.append("old")
    age(log)
    log.append("new")
    log.read()
    read = "select count(*) from signalbox._read_partition(%s, 0, 0, 2, 10, %s)"
    assert log.value(read, log.stream_id, 1) == 2

    drop(log, connect())

    assert log.value(read, log.stream_id, 1) == 0
    assert log.value(read, log.stream_id, 2) == 1


def test_a_drop_that_was_interrupted_is_finished_later(log: Log, connect: Connect) -> None:
    log.append("old")
    age(log)
    upkeep = connect()
    log.connection.execute(
        "select signalbox.leave_stream_segment(stream_id, starts_at) from signalbox.expired_stream_segments()"
        " where stream_id = %s",
        [log.stream_id],
    )

    drop(log, upkeep)

    assert not [name for name in segments(log) if name.endswith("_aged")]
    assert log.numbers()[1:] == (0, 1)


def test_an_appender_makes_the_segment_that_upkeep_did_not(log: Log) -> None:
    age(log)
    log.connection.execute(
        "delete from signalbox.stream_segment where stream_id = %s and ends_at > now()", [log.stream_id]
    )
    for name in [name for name in segments(log) if not name.endswith("_aged")]:
        log.connection.execute(f"drop table signalbox.{name}")
    log.connection.execute(
        "update signalbox.stream set segments_until = now() - interval '1 hour' where stream_id = %s", [log.stream_id]
    )

    log.append("without upkeep")

    assert log.consume() == ["without upkeep"]


def test_calls_of_upkeep_from_outside_drop_segments_too(log: Log, connect: Connect) -> None:
    outside = connect()
    outside.execute("update signalbox.upkeep_leader set expires_at = '-infinity'")
    log.append("old")
    age(log)
    log.append("new")
    over = [name for name in segments(log) if name.endswith("_aged")]
    reader = connect(autocommit=False)
    reader.execute(f"select count(*) from signalbox.stream_message_{log.stream_id}")

    for _ in range(3 * len(over)):
        outside.execute("select signalbox.upkeep('drop_stream_segments')")
    assert [name for name in segments(log) if name.endswith("_aged")] == over, "a session reads it"
    reader.rollback()
    for _ in range(3 * len(over)):
        outside.execute("select signalbox.upkeep('drop_stream_segments')")

    assert not [name for name in segments(log) if name.endswith("_aged")]
    assert log.consume() == ["new"]


@pytest.mark.parametrize(
    ("settings", "is_kept"),
    [
        ({"retention_bytes": 10**12}, True),
        ({"retention_messages": 3}, True),
        ({"retention_messages": 2}, False),
        ({"retention_bytes": 1}, False),
    ],
)
def test_what_newer_segments_hold_enough_of_is_dropped_before_its_time(
    log: Log, connect: Connect, settings: dict[str, int], is_kept: bool
) -> None:
    log.append("old")
    age(log)
    log.value("select signalbox.configure_stream(%s, %s)", log.name, Jsonb({"retention_seconds": 86_400} | settings))
    log.append("new")
    log.append("newer")

    drop(log, connect())

    assert log.consume() == ["old"] * is_kept + ["new", "newer"]
    assert log.numbers()[1] == 0


def test_compaction_keeps_segments_with_the_newest_of_a_key(connect: Connect) -> None:
    """The segment between two others is dropped, and readers still get what is before it."""
    log = make_log(connect(), partitions=1, retention_seconds=3600, compaction=True)
    log.group()
    chores = connect()

    def dropped() -> list[Any]:
        for _ in range(8):
            drop(log, chores)
        return [row[0] for row in log.rows(f"select payload from signalbox.stream_message_{log.stream_id} order by 1")]

    for payload, key in (("a", "k"), ("plain", None)):
        log.append(payload, key=key)
        age(log)
    assert dropped() == ["a", "plain"], "not compacted yet"
    log.value("select signalbox.compact_streams(settled => '0')")
    assert dropped() == ["a"]
    assert [row[3] for row in log.read()] == ["a"]

    log.append("b", key="k")
    log.value("select signalbox.compact_streams(settled => '0')")
    assert dropped() == ["b"]
    assert log.consume() == ["b"]
    assert log.numbers()[1:] == (0, 2)
