"""A table of Spark's becomes messages: all of it, or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.pipeline.source.dying import DyingSource
from tests.streams import make_log

pytestmark = pytest.mark.timeout(600)


def write(table: Any, url: str, engine: Engine, **options: Any) -> None:
    table.write.format("signalbox").mode("append").options(url=url, queue=engine.queue, **options).save()


def numbers(source: Any, count: int, tasks: int = 2) -> Any:
    return source.range(0, count, 1, tasks).selectExpr("to_json(struct(id as n)) as payload")


def received(engine: Engine) -> list[int]:
    found: list[int] = []
    while rows := engine.receive(1000):
        found += [row[3]["n"] for row in rows]
    return found


def staged(engine: Engine) -> int:
    return int(
        engine.value(
            "select coalesce(sum(cardinality(payloads)), 0) from signalbox.staged_write where queue_id = %s",
            engine.queue_id,
        )
    )


def test_each_row_is_sent_with_what_is_said_of_it(source: Any, url: str, engine: Engine) -> None:
    table = source.createDataFrame(
        [('{"n": 1}', '{"k": "v"}', 7, 0.0, "g", "d1", "t1"), ('{"n": 2}', None, None, 3600.0, None, None, None)],
        "payload string, attributes string, priority int, delay_seconds double, group_id string,"
        " deduplication_id string, trace_id string",
    )

    write(table, url, engine)

    (row,) = engine.rows(
        "select m.payload, m.attributes, m.priority, m.group_id, m.deduplication_id, m.trace_id"
        " from signalbox.message m join signalbox.ready r using (message_id) where r.queue_id = %s",
        engine.queue_id,
    )
    assert row == ({"n": 1}, {"k": "v"}, 7, "g", "d1", "t1")
    assert engine.counted()[:2] == (1, 1)
    assert engine.counted() == engine.recounted()
    assert staged(engine) == 0


def test_rows_of_all_tasks_arrive_in_order(source: Any, url: str, engine: Engine) -> None:
    write(numbers(source, 2500, tasks=3), url, engine)

    assert received(engine) == list(range(2500))


def test_a_stream_is_appended_to(source: Any, url: str, connect: Callable[..., psycopg.Connection[Any]]) -> None:
    log = make_log(connect(), partitions=2)
    table = source.range(0, 10, 1, 2).selectExpr("to_json(struct(id as n)) as payload", "concat('k', id % 3) as key")

    table.write.format("signalbox").mode("append").options(url=url, stream=log.name).save()

    read = source.read.format("signalbox").options(url=url, stream=log.name).load().collect()
    assert {json.loads(row["payload"])["n"]: row["key"] for row in read} == {n: f"k{n % 3}" for n in range(10)}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("'{}' as payload; 'x' as colour", "colour is not a column of a queue"),
        ("'x' as group_id", "payload is missing"),
        ("struct(1) as payload", "payload is of type struct.*to_json"),
        ("'{}' as payload; 'high' as priority", "priority is of type string"),
        ("'{}' as payload; 40000 as priority", "priority is 40000: it must be from 0 to 32767"),
        ("'{}' as payload; bigint(1099511627776) as priority", "priority must be from 0 to 32767 in every row"),
        ("if(id = 3, null, '{}') as payload", "payload is null"),
        ("if(id = 3, '{', '{}') as payload", "payload is not JSON"),
        ("'{}' as payload; '[]' as attributes", "attributes is a JSON array"),
    ],
)
def test_what_cannot_be_sent_is_named_and_nothing_is_sent(
    source: Any, url: str, engine: Engine, columns: str, said: str
) -> None:
    with pytest.raises(Exception, match=said):
        write(source.range(0, 4, 1, 2).selectExpr(*columns.split("; ")), url, engine)

    assert engine.counted()[:3] == (0, 0, 0)


def test_a_write_with_an_id_is_done_once(source: Any, url: str, engine: Engine) -> None:
    for _ in range(2):
        write(numbers(source, 5), url, engine, write_id="nightly 2026-11-21")
    write(numbers(source, 5), url, engine, write_id="nightly 2026-11-22")

    assert sorted(received(engine)) == sorted([*range(5)] * 2)
    assert staged(engine) == 0


@pytest.mark.proof
@pytest.mark.parametrize("step", ["between tasks", "before commit", "after commit"])
def test_a_write_that_is_killed_is_done_as_a_whole_or_not_at_all(
    source: Any, url: str, engine: Engine, step: str, tmp_path: Path
) -> None:
    source.dataSource.register(DyingSource)
    options = {"url": url, "queue": engine.queue, "write_id": step}
    flag = tmp_path / "died"

    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever Spark calls a worker that is gone
        numbers(source, 6).write.format("dying").mode("append").options(**options, die=step, flag=str(flag)).save()
    assert flag.exists()
    assert engine.counted()[0] == (6 if step == "after commit" else 0)
    write(numbers(source, 6), url, engine, write_id=step)

    assert received(engine) == [*range(6)]
