"""PostgreSQL refuses updates and deletes of published tables without a replica identity; anyone may publish ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.engine import Engine

Connect = Callable[..., psycopg.Connection[Any]]

WITHOUT_IDENTITY = "select table_name::text from signalbox._unidentified_tables()"
IDENTITY = "select relreplident::text from pg_class where oid = %s::regclass"


@pytest.fixture
def published(connect: Connect) -> Iterator[None]:
    """Publish all tables, as Debezium and others do by default."""
    connection = connect()
    connection.execute("create publication somebody_elses for all tables")
    yield
    connection.execute("drop publication somebody_elses")


@pytest.fixture
def stream(engine: Engine) -> str:
    engine.value("select signalbox.create_stream(%s)", f"{engine.queue}-stream")
    return f"{engine.queue}-stream"


def test_every_table_has_an_identity(engine: Engine, stream: str) -> None:
    engine.value("select signalbox.ensure_partitions()")

    assert engine.rows(WITHOUT_IDENTITY) == []


def test_a_new_partition_has_the_identity_of_its_parent(engine: Engine, stream: str) -> None:
    day = "'2201-01-01', '2201-01-02', 'YYYYMMDD'"
    made = engine.value(
        f"select signalbox._ensure_period('failure', {day}) || signalbox._ensure_period('settled', {day})"
    )
    stream_id = engine.value("select stream_id from signalbox.stream where name = %s", stream)
    segments = engine.rows("select table_name from signalbox.stream_segment where stream_id = %s", stream_id)
    try:
        names = [*made, f"stream_message_{stream_id}", *(name for (name,) in segments)]

        assert len(names) >= 5
        assert {name: engine.value(IDENTITY, f"signalbox.{name}") for name in names} == dict.fromkeys(names, "f")
    finally:
        for name in made:
            engine.connection.execute(f"drop table signalbox.{name}")


def test_each_table_takes_the_cheapest_identity(engine: Engine) -> None:
    tables = {"lease": "d", "message": "d", "scheduled": "i", "waiting": "i", "ready": "f", "claim_floor": "f"}

    assert {name: engine.value(IDENTITY, f"signalbox.{name}") for name in tables} == tables


@pytest.mark.usefixtures("published")
def test_a_publication_for_all_tables_stops_nothing(engine: Engine, stream: str) -> None:
    engine.send("acknowledged")
    engine.send("scheduled", delay_seconds=1000)
    engine.ack(*[row[1] for row in engine.receive()])
    engine.value("select signalbox.configure_queue(%s, '{\"group_max_in_flight\": 5}')", engine.queue)
    engine.value("select signalbox.limit_lane(%s, 'g', 1)", engine.queue)
    for n in range(3):
        engine.send(n, group_id="g")
    (first,) = engine.receive(10)
    engine.nack(first[1], delay_seconds=0)
    letter = engine.die()
    engine.value("select signalbox.redrive(array[%s::bigint])", letter)

    said = [
        engine.value("select signalbox.upkeep(%s)", step) for step in engine.value("select signalbox.upkeep_steps()")
    ]

    assert len(said) > 20
    assert engine.value("select signalbox.purge(%s)", engine.queue) > 0


@pytest.mark.usefixtures("published")
def test_no_table_refuses_an_update_or_a_delete(engine: Engine) -> None:
    tables = engine.rows(
        "select format('%%I.%%I', schemaname, tablename) from pg_publication_tables"
        " where pubname = 'somebody_elses' and schemaname = 'signalbox'"
    )
    assert len(tables) > 100
    for (table,) in tables:
        engine.connection.execute(f"delete from {table} where false")


def test_a_table_that_lost_its_identity_gets_it_back(engine: Engine) -> None:
    engine.connection.execute("create table signalbox.of_a_later_version (n integer)")
    try:
        assert engine.rows(WITHOUT_IDENTITY) == [("of_a_later_version",)]

        assert engine.value("select signalbox.identify_tables()") == ["of_a_later_version"]

        assert engine.rows(WITHOUT_IDENTITY) == []
    finally:
        engine.connection.execute("drop table signalbox.of_a_later_version")


def test_a_locked_table_is_left_for_the_next_call(engine: Engine, connect: Connect) -> None:
    engine.connection.execute("create table signalbox.of_a_later_version (n integer)")
    holder = connect(autocommit=False)
    holder.execute("lock table signalbox.of_a_later_version in access share mode")
    try:
        assert engine.value("select signalbox.identify_tables()") == []
        holder.rollback()
        assert engine.value("select signalbox.identify_tables()") == ["of_a_later_version"]
    finally:
        holder.rollback()
        engine.connection.execute("drop table signalbox.of_a_later_version")
