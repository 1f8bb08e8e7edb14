"""Filters of consumer groups: what they skip is committed and counted, whatever lies between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine
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


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ([], "settings"),
        ({"colour": 1}, "colour"),
        ({"filter": None}, "filter"),
        ({"filter": "queue:x"}, "filter"),
        ({"paused": True}, "paused"),
        ({"queue_window": 5}, "queue_window"),
        ({"delay_seconds": 5}, "delay_seconds"),
    ],
)
def test_a_group_has_no_settings_of_queues_and_its_own_are_checked(log: Log, settings: object, field: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        log.value("select signalbox.configure_group(%s, 'g', %s)", log.name, Jsonb(settings))
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", field)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"paused": 1}, "paused"),
        ({"queue_window": 0}, "queue_window"),
        ({"queue_window": 1.5}, "queue_window"),
        ({"queue_window": None}, "queue_window"),
        ({"delay_seconds": -1}, "delay_seconds"),
        ({"delay_seconds": 5}, "delay_seconds"),
    ],
)
def test_settings_of_a_subscription_of_a_fifo_queue_are_checked(
    log: Log, make_engine: Callable[..., Engine], settings: object, field: str
) -> None:
    log.group("fed", queue=make_engine(mode="fifo").queue)
    with pytest.raises(psycopg.Error) as refused:
        log.value("select signalbox.configure_group(%s, 'fed', %s)", log.name, Jsonb(settings))
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", field)


def test_a_preview_counts_what_a_filter_would_skip_and_changes_nothing(log: Log) -> None:
    for n in (1, 10, 2, 30):
        log.append({"n": n})
    preview = "select * from signalbox.configure_group(%s, 'g', '{\"filter\": \"payload.n:>20\"}', dry_run => true)"
    assert log.rows(preview, log.name) == [(True, 4, 3)]

    rows = log.read()
    assert [row[3]["n"] for row in rows] == [10, 30]
    assert log.commit(rows[-1])
    assert log.rows(preview, log.name) == [(True, 0, 0)]


def test_a_filter_that_is_wrong_names_the_field(log: Log) -> None:
    for text in ("payload.n", 'payload.n:"open', "payload.n:/x/", "queue:orders", "x" * 2001):
        with pytest.raises(psycopg.Error) as refused:
            log.value("select signalbox.set_group_filter(%s, 'g', %s)", log.name, text)
        assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", "filter")
    assert log.value("select signalbox.set_group_filter(%s, 'g', '')", log.name)
    log.append({"n": 1})
    assert len(log.read()) == 1
