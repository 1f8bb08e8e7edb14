"""Compaction keeps the newest message of each key, in order, beside appends and reads."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.races.naive import SCHEMA, NaiveVerbs
from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]
Places = dict[tuple[int, int], tuple[str | None, Any]]
"""Key and payload by partition and position."""

NEVER = "100 years"


@pytest.fixture
def log(connect: Connect) -> Log:
    made = make_log(connect(), partitions=2, compaction=True)
    made.group()
    return made


def compact(log: Log, most: int = 1_000_000, settled: str = "0", tombstones: str = NEVER) -> int:
    return int(log.value("select signalbox.compact_streams(%s, %s, %s)", most, settled, tombstones))


def kept(log: Log) -> Places:
    rows = log.rows(
        "select partition, position, key, payload from signalbox.stream_message where stream_id = %s"
        " order by partition, position",
        log.stream_id,
    )
    return {(partition, position): (key, payload) for partition, position, key, payload in rows}


def newest(appended: Places) -> Places:
    """The model: the newest message of each key, and all without a key."""
    last = {key: place for place, (key, _) in sorted(appended.items()) if key is not None}
    return {place: one for place, one in appended.items() if one[0] is None or last[one[0]] == place}


@pytest.mark.parametrize("seed", range(4))
def test_the_newest_of_each_key_is_kept(log: Log, seed: int) -> None:
    chance = random.Random(seed)
    appended: Places = {}
    read: list[Any] = []
    for _ in range(60):
        keys = chance.choices([None, "a", "b", "c", "d"], k=chance.randrange(4))
        for key in keys:
            payload = chance.choice([None, len(appended)])
            appended[log.append(payload, key=key)] = (key, payload)
        most = chance.randrange(1, 12)
        compact(log, most)
        assert set(newest(appended)) <= set(kept(log)) <= set(appended)
        if not chance.randrange(5):
            read += log.consume()

    compact(log)
    assert kept(log) == newest(appended)
    rest = {place: one for place, one in newest(appended).items() if one[0] is None or one[1] is not None}
    assert (compact(log, tombstones="0"), kept(log)) == (len(newest(appended)) - len(rest), rest)
    log.consume()
    assert (log.read(), log.numbers()[1:]) == ([], (0, 0)), "a read has skipped the positions of deleted messages"
    log.seek("beginning")
    assert [(row[0], row[1]) for row in sorted(log.read(most=1000))] == sorted(rest)


def write(log: Log, seed: int) -> Places:
    """Append in transactions, some of two messages; roll back one in seven. Return what was committed."""
    chance, appended = random.Random(seed), Places()
    for count in range(60):
        places = {log.append(n, key=(key := chance.choice("abcdef"))): (key, n) for n in range(1 + (count % 5 == 0))}
        if count % 7:
            log.connection.commit()
            appended |= places
        else:
            log.connection.rollback()
    return appended


def read(log: Log, last: dict[str, tuple[int, int]]) -> None:
    """Read and commit what is there, and note the place of the last message of each key."""
    keyed = "select partition, position, epoch, key from signalbox.read_stream(%s, 'g', 'm', 100)"
    for partition, position, epoch, key in log.rows(keyed, log.name):
        assert log.commit((partition, position, epoch)), "positions of a partition only grow"
        last[key] = (partition, position)


def test_a_reader_beside_appends_and_compaction_ends_at_the_newest_of_each_key(log: Log, connect: Connect) -> None:
    last: dict[str, tuple[int, int]] = {}
    compacter, writers = log.on(connect()), [log.on(connect(autocommit=False)) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        writing = [threads.submit(write, one, seed) for seed, one in enumerate(writers)]
        while not all(one.done() for one in writing):
            compact(compacter, 50)
            read(log, last)
    appended = {place: one for part in writing for place, one in part.result().items()}
    while log.numbers()[1]:
        read(log, last)
    compact(log)

    assert kept(log) == newest(appended)
    assert set(last.values()) == set(newest(appended))


def test_a_message_is_kept_until_the_newer_one_can_be_read(log: Log, connect: Connect) -> None:
    """Position 2 may still commit, so that position 3 cannot be read, and position 1 is the newest of its key."""
    slow = log.on(connect(autocommit=False))
    first = log.append("old", key="k")
    slow.append("slow", key="k")
    log.append("new", key="k")
    assert (compact(log), set(kept(log))) == (0, kept(log).keys() | {first})

    assert compact(log, settled="1 hour") == 0
    slow.connection.rollback()
    assert compact(log, settled="1 hour") == 0, "it is not old enough"
    assert compact(log) == 1
    assert [payload for _, payload in kept(log).values()] == ["new"]


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_prepared_message_of_a_key_is_waited_for(log: Log, connect: Connect, end: str) -> None:
    if not can_prepare(log):
        pytest.skip("the server has no prepared transactions")
    first = prepare_second_of_three(log, connect)

    assert (compact(log), first in kept(log)) == (0, True)
    log.connection.execute(f"{end} prepared '{log.name}'")
    assert compact(log) == (2 if end == "commit" else 1)
    assert [payload for _, payload in kept(log).values()] == ["new"]


def test_compaction_up_to_the_last_position_keeps_a_prepared_message_for_good(
    log: Log, connect: Connect, naive: NaiveVerbs
) -> None:
    if not can_prepare(log):
        pytest.skip("the server has no prepared transactions")
    last = "array(select pg_sequence_last_value(p) from unnest(p_stream.positions) p)"
    naive.install("_compactable", {"signalbox._horizons(p_stream.stream_id, p_stream.positions)": last})
    naive.install("compact_streams", {})
    prepare_second_of_three(log, connect)

    log.value(f"select {SCHEMA}.compact_streams(1000000, '0', %s)", NEVER)
    log.connection.execute(f"commit prepared '{log.name}'")
    compact(log)
    assert [payload for _, payload in kept(log).values()] == ["slow", "new"]


def can_prepare(log: Log) -> bool:
    return bool(log.value("select current_setting('max_prepared_transactions')::int"))


def prepare_second_of_three(log: Log, connect: Connect) -> tuple[int, int]:
    """Append three messages of a key, the second in a prepared transaction. Return the place of the first."""
    slow = log.on(connect(autocommit=False))
    partition, position = log.append("old", key="k")
    slow.append("slow", key="k")
    slow.connection.execute(f"prepare transaction '{log.name}'")
    log.append("new", key="k")
    return partition, position


def test_a_key_that_was_in_another_partition_keeps_its_later_message(log: Log) -> None:
    """Growth of the number of partitions moves keys; either partition may be compacted first."""
    place = log.append("later", key="k")
    for partition, key in ((1 - place[0], "k"), (1 - place[0], None)):
        log.value(
            "insert into signalbox.stream_message (stream_id, partition, position, payload, key, appended_at)"
            " select %s, %s, nextval(s.positions[%s]), '\"earlier\"', %s, m.appended_at - interval '1 millisecond'"
            " from signalbox.stream_message m join signalbox.stream s using (stream_id)"
            " where m.stream_id = %s and m.payload = '\"later\"' returning 1",
            log.stream_id, partition, partition + 1, key, log.stream_id,
        )  # fmt: skip

    assert compact(log) == 1
    assert sorted(kept(log).values(), key=str) == [("k", "later"), (None, "earlier")]
