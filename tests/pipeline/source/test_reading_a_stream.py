"""A stream from Spark: from one place to another, as often as it is asked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.pipeline.conftest import Archive
from tests.streams import Log, make_log

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def log(connect: Callable[..., psycopg.Connection[Any]]) -> Log:
    return make_log(connect(), partitions=2)


def read(source: Any, url: str, log: Log, **options: Any) -> Any:
    named = {name.rstrip("_"): value for name, value in options.items()}
    return source.read.format("signalbox").options(url=url, stream=log.name, **named).load()


def test_messages_are_read_where_they_stand(source: Any, url: str, log: Log) -> None:
    places = {log.append({"n": n}, key=f"k{n}"): n for n in range(20)}

    rows = read(source, url, log).collect()

    assert {(row["partition"], row["position"]): json.loads(row["payload"])["n"] for row in rows} == places
    assert {row["key"] for row in rows} == {f"k{n}" for n in range(20)}
    assert all(row["appended_at"] is not None for row in rows)


def test_a_range_is_read_and_no_more(source: Any, url: str, log: Log) -> None:
    for n in range(20):
        log.append(n)

    rows = read(source, url, log, from_='{"0": 3}', to='{"0": 5, "1": 2}', columns="partition,position").collect()

    assert sorted(map(tuple, rows)) == [(0, 3), (0, 4), (0, 5), (1, 1), (1, 2)]
    assert read(source, url, log, from_="latest").collect() == []


def test_nothing_is_read_that_stands_behind_what_may_still_commit(
    source: Any, url: str, log: Log, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    slow = log.on(connect(autocommit=False))
    log.append("before", key="k")
    slow.append("slow", key="k")
    log.append("behind", key="k")

    seen = [row[0] for row in read(source, url, log, columns="payload").collect()]
    slow.connection.commit()
    then = [row[0] for row in read(source, url, log, columns="payload").collect()]

    assert seen == ['"before"']
    assert sorted(then) == ['"before"', '"behind"', '"slow"']


def test_expired_messages_are_an_error_or_are_skipped(source: Any, url: str, log: Log) -> None:
    for n in range(6):
        log.append(n)
    log.value(
        "update signalbox.stream_partition set first_position = 3 where stream_id = %s and partition = 0 returning 1",
        log.stream_id,
    )

    with pytest.raises(Exception, match="retention has dropped 2 positions of partition 0"):
        read(source, url, log, from_='{"0": 1}').collect()

    passed = read(source, url, log, from_='{"0": 1}', on_loss="skip", columns="partition,position").collect()
    assert (0, 3) in map(tuple, passed)


def test_live_and_archived_messages_are_one_table(source: Any, url: str, log: Log, archive: Archive) -> None:
    """Each message once, whether retention has dropped it since, or it is archived and still there, or only there."""
    other = make_log(log.connection, partitions=1)
    places = {}
    for part in range(3):
        places |= {log.append({"n": 10 * part + n}, key=f"k{n}"): 10 * part + n for n in range(10)}
        other.append("of another stream")
        if part < 2:
            archive.run(part_rows=4)
        if part == 0:
            log.connection.execute("delete from signalbox.stream_message where stream_id = %s", [log.stream_id])
    log.connection.execute(
        "update signalbox.stream_partition set first_position = 2 where stream_id = %s", [log.stream_id]
    )

    rows = read(source, url, log, archive="true").collect()
    found = {(row["partition"], row["position"]): json.loads(row["payload"])["n"] for row in rows}
    part = read(source, url, log, archive="true", from_='{"0": 2}', to='{"0": 3}', columns="position,partition")

    assert (len(rows), found) == (len(places), places)
    assert {row["key"] for row in rows} == {f"k{n}" for n in range(10)}
    assert sorted(map(tuple, part.where("partition = 0").collect())) == [(2, 0), (3, 0)]
    with pytest.raises(Exception, match="archive is 'both': it must be true or false"):
        read(source, url, log, archive="both").collect()


def test_a_large_body_is_its_hash_and_size_live_and_archived(source: Any, url: str, log: Log, archive: Archive) -> None:
    bodies = [os.urandom(32) for _ in range(2)]
    append = "select * from signalbox.append_batch_large(%s, array['null', '1']::jsonb[], array[%s, null]::bytea[])"
    for body in bodies:
        log.value("select signalbox.claim_body(%s, 300000)", body)
        log.rows(append, log.name, body)
        if body == bodies[0]:
            archive.run()

    rows = read(source, url, log, archive="true", columns="payload,body_sha256,body_bytes").collect()

    found = {(row["payload"], bytes(row["body_sha256"] or b""), row["body_bytes"]) for row in rows}
    assert found == {("null", bodies[0], 300_000), ("null", bodies[1], 300_000), ("1", b"", None)}
    assert len(read(source, url, log, columns="payload").collect()) == 4
