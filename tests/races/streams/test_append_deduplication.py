"""An append with a deduplication id is one message within the window, whatever the concurrency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.races.naive import SCHEMA, NaiveVerbs
from tests.races.sessions import finish, start, until_waiting
from tests.streams import Log, Row, make_log

Connect = Callable[..., psycopg.Connection[Any]]

CALL = "select partition, position from {}.append_deduplicated(%s, %s, %s, key => %s)"
BATCH = "select partition, position from signalbox.append_batch_deduplicated(%s, %s, %s, keys => %s)"


@pytest.fixture
def log(connect: Connect) -> Log:
    made = make_log(connect(), partitions=2)
    made.group()
    return made


def append(log: Log, payload: Any, deduplication_id: str, key: str | None = None, schema: str = "signalbox") -> Row:
    return log.rows(CALL.format(schema), log.name, Jsonb(payload), deduplication_id, key)[0]


def batch(log: Log, payloads: list[Any], ids: list[str | None]) -> list[Row]:
    return log.rows(BATCH, log.name, [Jsonb(one) for one in payloads], ids, None)


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_the_second_of_two_producers_waits_for_the_first(
    log: Log, connect: Connect, observer: psycopg.Connection[Any], end: str
) -> None:
    first, second = log.on(connect()), log.on(connect())
    first.connection.execute("begin")
    place = append(first, "one", "id")
    again = start(append, second, "one", "id")
    until_waiting(observer, second.connection)
    first.connection.execute(end)

    assert (finish(again) == place) is (end == "commit")
    assert [row[3] for row in log.read()] == ["one"]


def test_without_the_lock_both_append(log: Log, connect: Connect, naive: NaiveVerbs) -> None:
    naive.install("_check_append_ids", {"pg_advisory_xact_lock(k.lock)": ""})
    naive.install("_append_batch_deduplicated", {})
    naive.install("append_batch_deduplicated", {})
    naive.install("append_deduplicated", {})
    first, second = log.on(connect()), log.on(connect())
    first.connection.execute("begin")
    append(first, "one", "id", schema=SCHEMA)
    append(second, "one", "id", schema=SCHEMA)
    first.connection.execute("commit")

    assert [row[3] for row in log.read()] == ["one", "one"]


def test_batches_with_the_same_ids_in_other_orders_wait_and_do_not_deadlock(
    log: Log, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    first, second = log.on(connect()), log.on(connect())
    first.connection.execute("begin")
    places = batch(first, ["a", "b", "c"], ["a", "b", "c"])
    again = start(batch, second, ["c", "new", "b", "a"], ["c", None, "b", "a"])
    until_waiting(observer, second.connection)
    first.connection.execute("commit")
    repeated = finish(again)

    assert [repeated[0], repeated[2], repeated[3]] == [places[2], places[1], places[0]]
    assert sorted(row[3] for row in log.read()) == ["a", "b", "c", "new"]


def test_an_id_holds_within_its_window_for_the_same_message(log: Log) -> None:
    place = append(log, {"n": 1}, "id", "k")
    assert batch(log, ["x", "x", "y"], ["twice", "twice", None])[0] == batch(log, ["x"], ["twice"])[0]
    for payload, key in (({"n": 2}, "k"), ({"n": 1}, "other"), ({"n": 1}, None)):
        with pytest.raises(psycopg.Error) as refused:
            append(log, payload, "id", key)
        assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB409", "deduplication_id")
    with pytest.raises(psycopg.Error) as refused:
        batch(log, ["new", "x", "z"], [None, "fresh", "fresh"])
    assert refused.value.sqlstate == "SB409"
    log.value("select signalbox.configure_stream(%s, '{\"closed\": true}')", log.name)
    assert append(log, {"n": 1}, "id", "k") == place
    log.value("select signalbox.configure_stream(%s, '{\"closed\": false}')", log.name)
    log.rows(
        "update signalbox.stream_dedup set expires_at = clock_timestamp() where stream_id = %s returning 1",
        log.stream_id,
    )

    assert append(log, {"n": 2}, "id", "k") > place
    assert sorted(str(row[3]) for row in log.read()) == ["x", "y", "{'n': 1}", "{'n': 2}"]


def test_old_ids_are_dropped_with_their_partition_and_their_stream(log: Log) -> None:
    append(log, 1, "id")
    log.value(
        "select signalbox._ensure_period('stream_dedup', '2020-02-01 06:00Z', '2020-02-01 12:00Z', 'YYYYMMDDHH24')"
    )
    unneeded = "select name from signalbox._unneeded_history() where name like 'stream_dedup%%'"
    assert log.rows(unneeded) == [("stream_dedup_2020020106",)]
    log.connection.execute("drop table signalbox.stream_dedup_2020020106")
    log.value("select signalbox.configure_stream(%s, '{\"closed\": true}')", log.name)
    log.value("select signalbox.delete_stream(%s)", log.name)
    assert log.rows("select 1 from signalbox.stream_dedup where stream_id = %s", log.stream_id) == []


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ("append_deduplicated(%(name)s, null, 'id')", "payload"),
        ("append_deduplicated(%(name)s, '1', '')", "deduplication_id"),
        ("append_deduplicated('none-such', '1', 'id')", "stream"),
        ("append_batch_deduplicated(%(name)s, array['1']::jsonb[], '{a,b}')", "deduplication_ids"),
        ("append_batch_deduplicated(%(name)s, array_fill('1'::jsonb, array[10001]), null)", "payloads"),
        ("configure_stream(%(name)s, '{\"dedup_window_seconds\": 90000}')", "dedup_window_seconds"),
    ],
)
def test_bad_input_is_refused_and_named(log: Log, call: str, field: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        log.connection.execute(f"select signalbox.{call}".encode(), {"name": log.name})

    assert (refused.value.sqlstate or "").startswith("SB4")
    assert refused.value.diag.column_name == field
