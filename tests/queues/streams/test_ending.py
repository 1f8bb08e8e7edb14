"""A stream is renamed and deleted: what follows, what is in the way, and what a running transaction keeps."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def log(connect: Connect) -> Log:
    return make_log(connect(), partitions=2)


def close(log: Log) -> None:
    log.value("select signalbox.configure_stream(%s, '{\"closed\": true}')", log.name)


def refused(log: Log, statement: str, *values: object) -> tuple[str | None, str | None, str]:
    with pytest.raises(psycopg.Error) as error:
        log.value(statement, *values)
    return error.value.sqlstate, error.value.diag.column_name, str(error.value)


DELETE = "select signalbox.delete_stream(%s)"


def test_a_deleted_stream_leaves_nothing_and_its_name_is_free(log: Log) -> None:
    log.group()
    log.append(1)
    log.consume()
    log.value("select signalbox.leave_group(%s, 'g', 'm')", log.name)
    log.connection.execute("delete from signalbox.group_member")
    close(log)
    assert log.value(DELETE, log.name) == log.stream_id
    left = log.value("select count(*) from pg_class where relname ~ %s", f"^stream_[a-z]+_{log.stream_id}(_|$)")
    assert left == 0
    assert refused(log, "select signalbox.append(%s, '1')", log.name)[:2] == ("SB404", "stream")
    assert log.value("select signalbox.create_stream(%s)", log.name) > log.stream_id


def test_what_is_in_the_way_of_a_deletion_is_named(log: Log) -> None:
    assert "is open" in refused(log, DELETE, log.name)[2]
    close(log)
    queue, table = f"fed-{uuid.uuid4().hex[:8]}", f"public.captured_{uuid.uuid4().hex[:8]}"
    log.connection.execute(f"create table {table} (id bigint primary key)")
    log.value("select signalbox.create_queue(%s)", queue)
    log.value("select signalbox.create_group(%s, 'feed', queue => %s)", log.name, queue)
    log.value("select signalbox.capture(%s, %s)", table, log.name)
    log.value("select signalbox.create_group(%s, 'plain')", log.name)
    log.connection.execute("select signalbox.join_group(%s, 'plain', 'me')", [log.name])
    sqlstate, field, said = refused(log, DELETE, log.name)
    assert (sqlstate, field) == ("SB400", "name")
    assert f"feeds the queue '{queue}'" in said
    log.value("select signalbox.drop_group(%s, 'feed')", log.name)
    assert table.removeprefix("public.") in refused(log, DELETE, log.name)[2]
    log.value("select signalbox.uncapture(%s, %s)", table, log.name)
    assert "is read by the member 'me' of group 'plain'" in refused(log, DELETE, log.name)[2]
    log.value("select signalbox.leave_group(%s, 'plain', 'me')", log.name)
    assert log.value(DELETE, log.name) == log.stream_id


def test_an_open_append_is_in_the_way_and_loses_nothing(log: Log, connect: Connect) -> None:
    writer = log.on(connect(autocommit=False))
    writer.append("late")
    close(log)
    assert "try again" in refused(log, DELETE, log.name)[2]
    writer.connection.commit()
    assert log.value("select count(*) from signalbox.stream_message where stream_id = %s", log.stream_id) == 1
    assert log.value(DELETE, log.name) == log.stream_id


def test_the_masks_of_a_stream_hold_for_its_new_name(log: Log) -> None:
    mask = "insert into signalbox.masking_rule (part, path, queue_name, created_by) values ('payload', %s, %s, 'me')"
    new = f"{log.name}-new"
    for path, name in (("card", log.name), ("name", log.name), ("card", new)):
        log.connection.execute(mask, [path, name])
    log.value("select signalbox.rename_stream(%s, %s)", log.name, new)
    masked = "select array_agg(path order by path) from signalbox.masking_rule where queue_name = %s"
    assert [log.value(masked, name) for name in (log.name, new)] == [["card", "name"]] * 2
    noted = "select details ->> 'masks' from signalbox.audit_event where action = 'stream.rename' and details @> %s"
    assert log.value(noted, f'{{"stream": "{new}"}}') == "2"


def test_a_renamed_stream_keeps_what_it_has(log: Log) -> None:
    log.group()
    place = log.append("before")
    new, rename = f"{log.name}-new", "select signalbox.rename_stream(%s, %s)"
    assert log.value(rename, log.name, new) == log.stream_id
    assert refused(log, "select signalbox.append(%s, '1')", log.name)[:2] == ("SB404", "stream")
    assert log.value("select count(*) from signalbox.read_stream(%s, 'g', 'm', 10)", new) == 1, place
    taken = log.value("select signalbox.create_stream(%s)", log.name)
    assert refused(log, rename, new, log.name)[:2] == ("SB400", "new_name")
    assert refused(log, rename, new, "no name")[:2] == ("SB400", "new_name")
    assert refused(log, rename, "there-is-none", "x")[0] == "SB404"
    assert taken > log.stream_id
