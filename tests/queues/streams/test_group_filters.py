"""Filters of consumer groups: what they skip is committed and counted, whatever lies between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def log(connect: Connect) -> Log:
    made = make_log(connect(), partitions=1)
    made.group()
    made.value("select signalbox.set_group_filter(%s, 'g', 'payload.n:>=10')", made.name)
    return made


def skipped(log: Log) -> int:
    return int(
        log.value(
            "select sum(p.skipped) from signalbox.group_partition p join signalbox.consumer_group g using (group_id)"
            " where g.stream_id = %s",
            log.stream_id,
        )
    )


def test_only_what_it_selects_is_read_and_the_rest_is_counted(log: Log) -> None:
    for n in (1, 10, 2, 3, 11, 4):
        log.append({"n": n})

    rows = log.read()
    assert [row[3]["n"] for row in rows] == [10, 11]
    assert skipped(log) == 0
    assert log.commit(rows[-1])
    assert skipped(log) == 3

    assert log.read() == []
    assert (skipped(log), log.numbers()[1]) == (4, 0)


def test_many_that_it_skips_are_committed_in_bounded_steps(log: Log) -> None:
    log.rows("select 1 from signalbox.append_batch(%s, array_fill('{\"n\": 1}'::jsonb, array[2500]))", log.name)
    log.append({"n": 12})

    (row,) = log.read(most=1)
    assert (row[1], row[3]) == (2501, {"n": 12})
    assert skipped(log) == 2000
    assert log.commit(row)
    assert skipped(log) == 2500


def test_a_filter_that_is_wrong_names_the_field(log: Log) -> None:
    for text in ("payload.n", 'payload.n:"open', "payload.n:/x/", "queue:orders", "x" * 2001):
        with pytest.raises(psycopg.Error) as refused:
            log.value("select signalbox.set_group_filter(%s, 'g', %s)", log.name, text)
        assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", "filter")
    assert log.value("select signalbox.set_group_filter(%s, 'g', '')", log.name)
    log.append({"n": 1})
    assert len(log.read()) == 1
