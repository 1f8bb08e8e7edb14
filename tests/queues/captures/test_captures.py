"""Captures: changes of a table as events of a stream, by the transaction of the writer; and rows of before."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]

_numbers = itertools.count(1)
_run = uuid.uuid4().hex[:6]

ORDERS = "create table {} (id integer primary key, status text, total numeric, note text)"


class Scene:
    """A table, the stream of its changes, and a reader."""

    def __init__(self, connect: Connect, definition: str = ORDERS, **settings: Any) -> None:
        self.connect = connect
        self.log: Log = make_log(connect(), **{"partitions": 2, **settings})
        self.table = f"public.captured_{_run}_{next(_numbers)}"
        self.run(definition)
        self.log.group()

    def run(self, statement: str, connection: psycopg.Connection[Any] | None = None) -> None:
        """Run a statement in which {} is the table."""
        name = sql.Identifier(*self.table.split("."))
        (connection or self.log.connection).execute(sql.SQL(statement).format(name))  # type: ignore[arg-type]

    def capture(self, **options: Any) -> int:
        names = "".join(f", {name} => %s" for name in options)
        statement = f"select signalbox.capture(%s, %s{names})"
        return int(self.log.value(statement, self.table, self.log.name, *options.values()))

    def events(self) -> list[dict[str, Any]]:
        """The new events, in their order."""
        return sorted(self.log.consume(), key=lambda event: event["order"])

    def changes(self) -> list[tuple[str, Any, Any]]:
        """The new events as op, before and after."""
        return [(event["op"], event["before"], event["after"]) for event in self.events()]

    def backfill(self, capture_id: int, most: int = 2) -> None:
        while self.log.value("select signalbox.backfill_capture(%s, %s)", capture_id, most):
            pass


@pytest.fixture
def scene(connect: Connect) -> Scene:
    return Scene(connect)


def row(number: int, status: str, total: Any = None, note: str | None = None) -> dict[str, Any]:
    return {"id": number, "status": status, "total": total, "note": note}


def test_each_change_is_an_event_of_its_transaction(scene: Scene) -> None:
    scene.capture()
    scene.run("insert into {} values (1, 'new', 9.5), (2, 'new', 1)")
    scene.run("update {} set status = 'paid' where id = 1")
    scene.run("update {} set status = status")  # changes nothing
    scene.run("insert into {} values (1, 'x') on conflict (id) do update set note = 'twice'")
    scene.run("update {} set id = 3 where id = 2")
    scene.run("delete from {} where id = 1")
    undone = scene.connect(autocommit=False)
    scene.run("insert into {} values (9, 'undone')", undone)
    undone.rollback()
    events = scene.events()

    assert [(event["op"], event["before"], event["after"]) for event in events[:3]] == [
        ("insert", None, row(1, "new", 9.5)),
        ("insert", None, row(2, "new", 1)),
        ("update", row(1, "new", 9.5), row(1, "paid", 9.5)),
    ]
    assert [(event["op"], event["key"]["id"]) for event in events[3:4]] == [("update", 1)]
    assert sorted((event["op"], event["key"]["id"]) for event in events[4:6]) == [("delete", 2), ("insert", 3)]
    assert [(event["op"], event["key"]) for event in events[6:]] == [("delete", {"id": 1})]
    assert events[0]["transaction_id"] == events[1]["transaction_id"] < events[2]["transaction_id"]
    assert events[0]["table"] == scene.table


def test_columns_and_a_filter_choose_events(scene: Scene) -> None:
    scene.capture(columns=["status"], filter="payload.after.status:paid,refunded payload.op:update")
    scene.run("insert into {} values (1, 'paid'), (2, 'new')")
    scene.run("update {} set status = 'paid'")
    scene.run("update {} set note = 'not captured', status = 'refunded' where id = 1")
    scene.run("update {} set note = 'nor this'")
    assert scene.changes() == [
        ("update", {"status": "new"}, {"status": "paid"}),
        ("update", {"status": "paid"}, {"status": "refunded"}),
    ]


def test_a_truncate_and_an_altered_table_are_noted_in_every_partition(scene: Scene) -> None:
    scene.capture()
    scene.run("insert into {} values (1, 'new')")
    scene.run("alter table {} add column extra text default 'here'")
    scene.run("update {} set status = 'paid'")
    scene.run("truncate {}")
    events = scene.events()
    assert [event["op"] for event in events] == ["insert", "schema", "schema", "update", "truncate", "truncate"]
    assert "extra text" in events[1]["columns"]
    assert events[3]["after"]["extra"] == "here"


def test_a_key_of_several_columns_and_one_that_is_given(connect: Connect) -> None:
    scene = Scene(connect, "create table {} (a text, b integer, c uuid not null unique, primary key (a, b))")
    scene.capture()
    scene.run("insert into {} values ('x', 1, gen_random_uuid())")
    assert scene.events()[0]["key"] == {"a": "x", "b": 1}
    other = Scene(connect, "create table {} (a text, c integer not null unique)")
    other.capture(key=["c"])
    other.run("insert into {} values ('x', 7)")
    assert other.events()[0]["key"] == {"c": 7}


def test_a_row_too_large_for_the_stream_comes_without_its_contents(connect: Connect) -> None:
    scene = Scene(connect, max_payload_bytes=2000)
    scene.capture()
    scene.run("insert into {} values (1, 'new', 1, repeat('x', 1500))")
    scene.run("update {} set status = 'paid'")
    scene.run("update {} set note = repeat('y', 3000)")
    kinds = [
        (event["op"], event["before"] is None, event["after"] is None, event.get("omitted")) for event in scene.events()
    ]
    assert kinds == [
        ("insert", True, False, None),
        ("update", True, False, ["before"]),
        ("update", True, True, ["before", "after"]),
    ]


def test_many_rows_of_one_statement_all_come(scene: Scene) -> None:
    scene.capture()
    scene.run("insert into {} select n, 'new' from generate_series(1, 2500) n")
    read = scene.log.value("select count(*) from signalbox.stream_message where stream_id = %s", scene.log.stream_id)
    assert read == 2500


def test_rows_of_before_come_beside_live_changes_and_each_key_keeps_its_order(scene: Scene) -> None:
    """A row changes before its chunk, after it, while a writer holds it, and goes."""
    scene.run("insert into {} select n, 'old' from generate_series(1, 6) n")
    number = scene.capture()
    step = "select signalbox.backfill_capture(%s, 2)"
    scene.run("update {} set status = 'early' where id = 2")
    scene.log.value(step, number)  # 1, 2
    scene.run("update {} set status = 'late' where id = 1")
    writer = scene.connect(autocommit=False)
    scene.run("update {} set status = 'held' where id = 3", writer)
    scene.run("delete from {} where id = 6")
    for _ in range(3):
        scene.log.value(step, number)  # 3 is skipped, 4, 5
    assert scene.log.value(step, number) == 0, "the row is still held"
    writer.commit()
    scene.backfill(number)

    seen: dict[int, list[tuple[str, str | None]]] = {}
    for event in scene.events():
        seen.setdefault(event["key"]["id"], []).append((event["op"], (event["after"] or {}).get("status")))
    assert seen == {
        1: [("backfill", "old"), ("update", "late")],
        2: [("update", "early"), ("backfill", "early")],
        3: [("update", "held"), ("backfill", "held")],
        4: [("backfill", "old")],
        5: [("backfill", "old")],
        6: [("delete", None)],
    }
    assert scene.log.value("select backfilled_at is not null from signalbox.captures() where capture_id = %s", number)


def test_a_writer_of_a_row_that_is_being_read_comes_after_it(scene: Scene) -> None:
    scene.run("insert into {} values (1, 'old')")
    number = scene.capture()
    reader = scene.connect(autocommit=False)
    reader.execute("select signalbox.backfill_capture(%s)", [number])
    writer = scene.connect()
    writer.execute("set lock_timeout = '50ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        scene.run("update {} set status = 'new'", writer)
    reader.commit()
    scene.run("update {} set status = 'new'", writer)
    assert [(event["op"], event["after"]["status"]) for event in scene.events()] == [
        ("backfill", "old"),
        ("update", "new"),
    ]


def test_a_step_that_is_killed_is_done_again_and_a_late_writer_is_not_passed(scene: Scene) -> None:
    scene.run("insert into {} values (1, 'old')")
    number = scene.capture()
    killed = scene.connect(autocommit=False)
    killed.execute("select signalbox.backfill_capture(%s)", [number])
    late = scene.connect(autocommit=False)
    scene.run("insert into {} values (2, 'late')", late)
    scene.log.value("select pg_terminate_backend(%s, 60000)", killed.info.backend_pid)
    killed.close()
    scene.backfill(number)
    scene.run("insert into {} values (3, 'early')")
    got = {event["key"]["id"] for event in scene.events()}
    late.commit()
    got |= {event["key"]["id"] for event in scene.events()}
    assert got == {1, 2, 3}


def test_an_uncaptured_table_has_no_trigger_left(scene: Scene) -> None:
    scene.capture()
    with pytest.raises(psycopg.Error) as refused:
        scene.capture()
    assert refused.value.diag.column_name == "stream"
    assert scene.log.value("select signalbox.uncapture(%s, %s)", scene.table, scene.log.name)
    assert not scene.log.value("select signalbox.uncapture(%s, %s)", scene.table, scene.log.name)
    assert scene.log.value("select count(*) from pg_trigger where tgrelid = %s::regclass", scene.table) == 0


@pytest.mark.parametrize(
    ("made", "options", "field"),
    [
        ("create view {} as select 1 as id", {}, "table_name"),
        (
            "create temporary table unused (id integer); create unlogged table {} (id integer primary key)",
            {},
            "table_name",
        ),
        ("create table {} (id integer)", {}, "key"),
        ("create table {} (id integer unique)", {"key": ["id"]}, "key"),
        (ORDERS, {"columns": ["id", "no_such"]}, "columns"),
        (ORDERS, {"filter": "status:paid"}, "filter"),
    ],
)
def test_what_cannot_be_captured_is_refused_by_name(connect: Connect, made: str, options: Any, field: str) -> None:
    scene = Scene(connect, made)
    with pytest.raises(psycopg.Error) as refused:
        scene.capture(**options)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", field)


@pytest.mark.parametrize("name", ["no_such_table", "signalbox.queue", "a.b.c.d", 'pg_class; drop table "x', "", None])
def test_a_table_that_is_none_is_refused(scene: Scene, name: str | None) -> None:
    with pytest.raises(psycopg.Error) as refused:
        scene.log.value("select signalbox.capture(%s, %s)", name, scene.log.name)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", "table_name")


def test_a_writer_without_rights_on_the_stream_is_captured(scene: Scene) -> None:
    scene.capture()
    role = f"writer_{_run}"
    scene.log.connection.execute(f"create role {role}")
    scene.run(f"grant insert on {{}} to {role}")
    writer = scene.connect()
    writer.execute(f"set role {role}")
    scene.run("insert into {} values (1, 'new')", writer)
    assert scene.changes() == [("insert", None, row(1, "new"))]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        writer.execute("select signalbox._append_changes(1, 'insert', null, null)")
    writer.close()
    scene.run(f"revoke all on {{}} from {role}")
    scene.log.connection.execute(f"drop role {role}")
