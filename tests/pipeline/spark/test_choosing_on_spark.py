"""A filter over the archive chooses what the same filter chooses in the database: Spark against the plain evaluator."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlq.filters import KEYS, Filter, FilterError, parse
from pipeline.archive.schemas import KINDS
from pipeline.replay import choosing
from tests.dlq.filters.filter_evaluator import matches
from tests.dlq.filters.filter_rows import NOW, insert_dead_letters
from tests.dlq.filters.filter_strategies import terms

pytestmark = pytest.mark.timeout(600)

Lot = tuple[Any, list[dict[str, Any]]]
AT_ONCE = 40
"""Columns for many filters in one job, since starting a job takes longer than its work."""
ANSWERED = [
    key
    for key in KEYS.values()
    if "dead_letters" in (choosing.WORDS.get(key.name) or choosing.COLUMNS.get(key.name, {}))
]


@pytest.fixture
def lot(spark: Any, dsn: str) -> Lot:
    """The lot that PostgreSQL is asked, as the archive would have it: each with the queue that it died in."""
    with psycopg.connect(dsn) as connection:
        rows = insert_dead_letters(connection)
        connection.rollback()
    for row in rows:
        row["queue"] = row["source_queue"]
    table = pa.Table.from_pylist([_archived(row) for row in rows], schema=KINDS["dead_letters"].schema)
    return spark.createDataFrame(table).cache(), rows


def _archived(row: dict[str, Any]) -> dict[str, Any]:
    documents = {name: row[name] and json.dumps(row[name]) for name in ("payload", "attributes")}
    return row | documents | {"payload": json.dumps(row["payload"])}


def found(table: Any, asked: list[Filter]) -> list[set[int]]:
    """Rows that each filter selects, by one job."""
    columns = [choosing.condition(one, "dead_letters", NOW).alias(f"f{place}") for place, one in enumerate(asked)]
    answers = table.select("message_id", *columns).toArrow().to_pydict()
    ids = answers["message_id"]
    return [
        {one for one, chosen in zip(ids, answers[f"f{place}"], strict=True) if chosen} for place in range(len(asked))
    ]


def expected(rows: list[dict[str, Any]], asked: Filter) -> set[int]:
    return {row["message_id"] for row in rows if matches(asked, row, NOW)}


@cache
def drawn() -> st.SearchStrategy[list[Filter]]:
    one_key = st.sampled_from(ANSWERED).flatmap(lambda key: terms(key, nasty=False)).map(lambda term: Filter((term,)))
    several = st.lists(st.sampled_from(ANSWERED).flatmap(lambda key: terms(key, nasty=False)), max_size=4)
    return st.lists(one_key | several.map(lambda one: Filter(tuple(one))), min_size=AT_ONCE, max_size=AT_ONCE)


# The lot is the same for each example: it is only read.
@settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn())
@pytest.mark.proof
def test_spark_and_python_agree(lot: Lot, asked: list[Filter]) -> None:
    """Columns of a filter from its canonical text."""
    table, rows = lot
    read = [parse(str(one)) for one in asked if _is_answered(one)]

    for one, chosen in zip(read, found(table, read), strict=True):
        assert chosen == expected(rows, one), str(one)


def _is_answered(asked: Filter) -> bool:
    try:
        choosing.check(asked, ["dead_letters"])
    except FilterError as error:
        assert error.token.startswith(("state:", "-state:")), error
        return False
    return True


SOME_MATCH = [
    "queue:filter-orders",
    "tenant:filter-acme",
    "error:%",
    "error:such_",
    "TIMED",
    "-class:TimeoutError",
    "-class:*",
    "reason:rejected",
    'group:""',
    "attempts:>=3",
    "redrives:1..2",
    "priority:0,9",
    "age:>2d",
    "dead:2026-01-07..2026-01-08",
    "sent:<2026-01-06",
    "consumer:A",
    "payload.a:5",
    'payload.a:"5"',
    "payload.a:>1",
    "payload.a.b:*",
    "-payload.a:5",
    "payload.a[]:5",
    "payload.a[].a:>4",
    "payload.a[].a[]:/b$/",
    "payload.b:/^x|5/",
    "-payload.b:/^x|5/,true",
    "error:/out( after)?/",
    "error:/^TIMED/i",
    "class:/Error$/",
    "-group:/^[ab]/",
    "attr.b:x,null",
]


@pytest.mark.proof
def test_some_match_and_some_do_not(lot: Lot) -> None:
    table, rows = lot
    asked = [parse(text) for text in SOME_MATCH]

    for one, chosen in zip(asked, found(table, asked), strict=True):
        assert chosen == expected(rows, one), str(one)
        assert 0 < len(chosen) < len(rows), str(one)
