"""The page of captured tables, and the end of a capture after a preview."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from console.captures import capturable
from queues.models import AuditEvent
from tests.console.browsers import Browser


def test_a_capture_is_seen_and_ended_by_clicks(
    viewer: Browser, admin: Browser, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    connection, table, log = connect(), f"orders_{uuid.uuid4().hex[:8]}", f"changes-{uuid.uuid4().hex[:8]}"
    connection.execute(f"create table public.{table} (id bigint primary key, status text)")
    connection.execute("select signalbox.create_stream(%s)", [log])
    (number,) = connection.execute(
        "select signalbox.capture(%s, %s, null, null, 'payload.op:insert')", [f"public.{table}", log]
    ).fetchone() or (None,)
    here = f"/streams/{log}/captures/{number}/end"
    try:
        (row,) = [row for row in viewer.see("/captures").rows() if table in row]
        assert log in row
        assert "payload.op:insert" in row
        assert "not done" in row
        assert viewer.get(here).status_code == 403

        assert "four triggers are dropped" in admin.see(here).text
        assert admin.post(here, {"reason": ""}).status_code == 422
        assert admin.post(here, {"reason": "moved"}).status_code == 302
        event = AuditEvent.objects.filter(action="capture.stop", details__stream=log).get()
        assert (event.reason, event.details["table"].endswith(table)) == ("moved", True)
        assert admin.get(here).status_code == 404
        connection.execute(f"insert into public.{table} values (1, 'new')")
    finally:
        connection.execute(f"drop table public.{table}")


def test_the_capture_of_a_dropped_table_can_be_ended(
    admin: Browser, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    connection, table, log = connect(), f"orders_{uuid.uuid4().hex[:8]}", f"changes-{uuid.uuid4().hex[:8]}"
    connection.execute(f"create table public.{table} (id bigint primary key)")
    connection.execute("select signalbox.create_stream(%s)", [log])
    (number,) = connection.execute("select signalbox.capture(%s, %s)", [f"public.{table}", log]).fetchone() or (None,)
    connection.execute(f"drop table public.{table}")
    assert "the table was dropped" in admin.see("/captures").text
    assert admin.post(f"/streams/{log}/captures/{number}/end", {"reason": "gone"}).status_code == 302
    assert log not in admin.see("/captures").text


def test_a_table_of_the_list_is_captured_by_clicks(
    admin: Browser, connect: Callable[..., psycopg.Connection[Any]], settings: Any
) -> None:
    connection, table, log = connect(), f"orders_{uuid.uuid4().hex[:8]}", f"changes-{uuid.uuid4().hex[:8]}"
    connection.execute(f"create table public.{table} (id bigint primary key, status text)")
    connection.execute("select signalbox.create_stream(%s)", [log])
    here = f"/streams/{log}/new-capture"
    settings.CAPTURE_TABLES = capturable.parse(["public.others@shop"])
    assert "No table may be captured" in admin.see(here).text
    settings.CAPTURE_TABLES = capturable.parse([f"public.{table}@default", "public.others@shop"])
    assert admin.post(here, {"table": "public.others"}).status_code == 422
    assert admin.post(here, {"table": f"public.{table}", "columns": "id, nothing"}).status_code == 422
    assert admin.post(here, {"table": f"public.{table}", "filter": "status:paid"}).status_code == 422
    assert admin.post(here, {"table": f"public.{table}", "columns": "status"}).status_code == 302
    (row,) = [row for row in admin.see("/captures").rows() if table in row]
    assert "status" in row
    connection.execute(f"drop table public.{table}")


@pytest.mark.parametrize("item", ["orders", "public.orders@", ".orders", "public."])
def test_a_list_of_tables_that_cannot_be_read_is_refused(item: str) -> None:
    with pytest.raises(ValueError, match="tables with their schema"):
        capturable.parse([item])
