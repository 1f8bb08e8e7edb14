"""A table is captured from the log, without triggers: nothing lost or doubled over rollbacks, crashes and DDL."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from queues.database.embedded.binaries import install_directory
from queues.upkeep.log_captures import LogCaptures
from tests.proof.replication.servers import LogicalServer
from tests.streams import Log, make_log

pytestmark = pytest.mark.timeout(600)
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[LogicalServer]:
    with LogicalServer(install_directory()) as made:
        made.migrate()
        yield made


class Scene:
    def __init__(self, server: LogicalServer, identity: str = "default") -> None:
        self.server, self.table = server, f"public.orders_{next(_numbers)}"
        self.log: Log = make_log(server.connect(), partitions=2)
        self.run("create table {} (id bigint primary key, status text, tags text[], document jsonb, note text)")
        self.run(f"alter table {{}} replica identity {identity}")
        self.upkeep = LogCaptures(server.connect())
        self.log.group()

    def run(self, statement: str, connection: psycopg.Connection[Any] | None = None) -> None:
        (connection or self.log.connection).execute(statement.format(self.table).encode())

    def capture(self, **options: Any) -> int:
        names = "".join(f", {name} => %s" for name in options)
        statement = f"select signalbox.capture_from_log(%s, %s{names})"
        number = int(self.log.value(statement, self.table, self.log.name, *options.values()))
        assert self.log.value("select signalbox.open_capture_slot(%s)", number)
        return number

    def events(self) -> list[dict[str, Any]]:
        self.upkeep.follow()
        return sorted(self.log.consume(), key=lambda event: event["order"])

    def changes(self) -> list[tuple[str, Any, Any]]:
        return [(one["op"], one["before"], one["after"]) for one in self.events()]


def row(number: int, status: str | None, **more: Any) -> dict[str, Any]:
    return {"id": number, "status": status, "tags": None, "document": None, "note": None, **more}


def test_changes_come_in_the_order_of_commits_and_not_of_a_rollback(server: LogicalServer) -> None:
    scene = Scene(server)
    number = scene.capture()
    assert scene.log.value("select count(*) from pg_trigger where tgrelid = %s::regclass", scene.table) == 0
    first, second, undone = (server.connect() for _ in range(3))
    for connection in (first, second, undone):
        connection.autocommit = False
    text = 'quote " comma , back \\ (brace)'
    first.execute(f"insert into {scene.table} values (1, %s, %s, %s)".encode(), [text, ["a", "b,c"], '{"n": [1]}'])
    scene.run("insert into {} values (2, 'new')", second)
    scene.run("insert into {} values (9, 'undone')", undone)
    second.commit()
    first.commit()
    undone.rollback()
    scene.run("update {} set status = null where id = 2")
    scene.run("update {} set id = 3 where id = 2")
    scene.run("delete from {} where id = 1")
    scene.run("truncate {}")
    events = scene.events()
    assert [(one["op"], one["before"], one["after"]) for one in events] == [
        ("insert", None, row(2, "new")),
        ("insert", None, row(1, text, tags=["a", "b,c"], document={"n": [1]})),
        ("update", None, row(2, None)),
        ("delete", {"id": 2}, None),
        ("insert", None, row(3, None)),
        ("delete", {"id": 1}, None),
        ("truncate", None, None),
        ("truncate", None, None),
    ]
    assert events[0]["transaction_id"] > events[1]["transaction_id"]
    assert scene.events() == []
    ((slot, status, lag),) = scene.log.rows(
        "select slot, wal_status, lag_bytes from signalbox.log_captures() where capture_id = %s", number
    )
    assert (status, lag < 100_000) == ("reserved", True)
    assert scene.log.value("select signalbox.uncapture(%s, %s)", scene.table, scene.log.name)
    assert scene.log.value("select count(*) from pg_replication_slots where slot_name = %s", slot) == 0
    assert scene.log.value("select count(*) from pg_publication where pubname = %s", slot) == 0


def test_a_full_identity_gives_the_row_before_and_filters_choose(server: LogicalServer) -> None:
    scene = Scene(server, "full")
    scene.capture(columns=["id", "status"], filter="payload.op:update,delete")
    scene.run("insert into {} values (1, 'new')")
    scene.run("update {} set note = 'not captured'")
    scene.run("update {} set status = 'paid'")
    scene.run("delete from {}")
    new, paid = {"id": 1, "status": "new"}, {"id": 1, "status": "paid"}
    assert scene.changes() == [("update", new, paid), ("delete", paid, None)]


def test_a_large_value_that_did_not_change_is_named(server: LogicalServer) -> None:
    scene = Scene(server)
    scene.capture()
    scene.run("alter table {} alter note set storage external")
    scene.run("insert into {} values (1, 'new', null, null, repeat('x', 9000))")
    scene.run("update {} set status = 'paid'")
    update = scene.events()[-1]
    assert (update["omitted"], "note" in update["after"], update["after"]["status"]) == (["note"], False, "paid")


def test_an_altered_table_goes_on(server: LogicalServer) -> None:
    scene = Scene(server)
    scene.capture(columns=["id", "status"])
    scene.run("insert into {} values (1, 'before')")
    scene.run("alter table {} drop column note, add column extra text default 'here'")
    scene.run("insert into {} values (2, 'after')")
    assert [(one["op"], (one["after"] or {}).get("status")) for one in scene.events()] == [
        ("schema", None),
        ("schema", None),
        ("insert", "before"),
        ("insert", "after"),
    ]


@pytest.mark.parametrize("step", ["before", "between", "after"])
def test_a_reader_that_dies_at_a_step_loses_and_repeats_nothing(server: LogicalServer, step: str) -> None:
    """Step: before the commit of the appends, between it and the move of the slot, and after both."""
    scene = Scene(server)
    scene.capture()
    scene.run("insert into {} select n, 'new' from generate_series(1, 2500) n")

    class Dying(LogCaptures):
        def _append(self, *given: Any) -> str:
            end = super()._append(*given)
            if step == "before":
                raise psycopg.OperationalError("died")
            return "0/0" if step == "between" else end

    Dying(server.connect()).follow()
    scene.run("insert into {} values (0, 'later')")
    scene.upkeep.follow()
    read = scene.log.value("select count(*) from signalbox.stream_message where stream_id = %s", scene.log.stream_id)
    keys = scene.log.value(
        "select count(distinct key) from signalbox.stream_message where stream_id = %s", scene.log.stream_id
    )
    assert (read, keys) == (2501, 2501)


def test_a_table_without_a_key_is_refused(server: LogicalServer) -> None:
    scene = Scene(server)
    scene.run("create table {}_plain (id bigint)")
    for table, field in ((f"{scene.table}_plain", "key"), ("signalbox.queue", "table_name")):
        with pytest.raises(psycopg.Error) as refused:
            scene.log.value("select signalbox.capture_from_log(%s, %s)", table, scene.log.name)
        assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", field)
