"""Actors in the audit: actions of SQL and the client have rows, and no role can act in another's name."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from queues import audit
from queues.control import deletion, queues, renaming, streams
from queues.database import grants
from queues.models import AuditEvent
from signalbox import Client

pytestmark = pytest.mark.usefixtures("commits")

Connect = Callable[..., psycopg.Connection[Any]]
Rows = list[tuple[str, str, dict[str, Any]]]


@pytest.fixture
def name() -> str:
    return f"audited-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def shop(connect: Connect, dsn: str) -> Any:
    """A session of an application's role."""
    owner, role = connect(), f"shop_{uuid.uuid4().hex[:8]}"
    owner.execute(f"create role {role} login".encode())
    grants.write(owner, {role: ["application"]})
    with psycopg.connect(make_conninfo(dsn, user=role, application_name="the shop"), autocommit=True) as session:
        yield session
    owner.execute(f"drop owned by {role}; drop role {role}".encode())


def rows_since(before: int, actor: str | None = None) -> Rows:
    events = AuditEvent.objects.filter(audit_event_id__gt=before).order_by("position")
    return [(e.actor, e.action, e.details) for e in events if actor is None or e.actor == actor]


def newest() -> int:
    return int(AuditEvent.objects.order_by("-audit_event_id").values_list("audit_event_id", flat=True).first() or 0)


def test_each_verb_that_changes_a_queue_writes_one_row(shop: psycopg.Connection[Any], name: str) -> None:
    client, before = Client(shop), newest()
    settings = {"max_receives": 3, "group_max_in_flight": 2}

    client.create_queue(name, settings)
    client.create_queue(name, settings)
    client.configure_queue(name, {"max_receives": 3})
    client.configure_queue(name, {"max_receives": 4, "paused": True})
    shop.execute("select signalbox.limit_lane(%s, 'g', 1)", [name])
    client.send(name, 1)
    client.purge(name)
    client.purge(name)
    shop.execute("select signalbox.declare_queue(%s)", [name])
    shop.execute("select signalbox.declare_queue(%s)", [f"{name}-declared"])

    actor = f"sql:{shop.info.user}"
    found = rows_since(before, actor)
    assert [action for _, action, _ in found] == [
        "queue.create", "queue.configure", "lane.limit", "queue.purge", "queue.create",
    ]  # fmt: skip
    assert found[0][2] == {"settings": settings}
    assert found[1][2]["changes"] == {
        "max_receives": {"before": 3, "after": 4},
        "paused": {"before": False, "after": True},
    }
    event = AuditEvent.objects.get(audit_event_id__gt=before, action="queue.configure", actor=actor)
    assert (event.queue_name, event.database_role, event.application_name) == (name, shop.info.user, "the shop")
    assert audit.verify().complaint == ""


def test_what_is_configured_in_the_transaction_that_made_the_queue_has_its_row(
    shop: psycopg.Connection[Any], name: str
) -> None:
    client, before = Client(shop), newest()

    with shop.transaction():
        client.create_queue(name, {"max_receives": 3})
        client.configure_queue(name, {"max_receives": 4})
        client.configure_queue(name, {"max_receives": 3})

    actions = [(action, details.get("changes")) for _, action, details in rows_since(before)]
    assert actions == [
        ("queue.create", None),
        ("queue.configure", {"max_receives": {"before": 3, "after": 4}}),
        ("queue.configure", {"max_receives": {"before": 4, "after": 3}}),
    ]


def test_each_verb_that_changes_a_stream_writes_one_row(shop: psycopg.Connection[Any], name: str) -> None:
    client, before = Client(shop), newest()

    client.create_stream(name, {"partitions": 1})
    client.create_stream(name, {"partitions": 1})
    client.configure_stream(name, {"retention_seconds": 7200})
    client.configure_stream(name, {"retention_seconds": 7200})
    client.create_group(name, "g")
    client.seek(name, "g", "beginning", dry_run=True)
    client.seek(name, "g", "beginning")
    client.drop_group(name, "g")
    client.drop_group(name, "g")

    found = rows_since(before, f"sql:{shop.info.user}")
    assert [action for _, action, _ in found] == [
        "stream.create", "stream.configure", "group.create", "group.seek", "group.drop",
    ]  # fmt: skip
    assert {details["stream"] for _, _, details in found} == {name}


def test_a_service_and_its_verb_write_one_row_together(name: str) -> None:
    before = newest()

    queues.create_queue(name, {"max_receives": 3}, actor="ana")
    queues.configure_queue(name, {"max_receives": 4}, actor="ben", reason="slow")
    renaming.rename_queue(name, f"{name}-2", actor="cy", details={"masks": 1})
    deletion.delete_queue(f"{name}-2", actor="di", reason="over")
    streams.create_stream(name, {"partitions": 1}, actor="eve")

    found = rows_since(before)
    assert [(actor, action) for actor, action, _ in found] == [
        ("ana", "queue.create"), ("ben", "queue.configure"), ("cy", "queue.rename"), ("di", "queue.close"),
        ("di", "queue.delete"), ("eve", "stream.create"),
    ]  # fmt: skip
    assert found[2][2]["masks"] == 1
    assert [e.reason for e in AuditEvent.objects.filter(audit_event_id__gt=before, actor="ben")] == ["slow"]


def test_no_role_acts_in_the_name_of_another(shop: psycopg.Connection[Any], name: str) -> None:
    before, actor = newest(), f"sql:{shop.info.user}"

    shop.execute('set signalbox.acting = \'{"actor": "admin", "reason": "forged"}\'')
    Client(shop).create_queue(name)
    shop.execute("select signalbox._record_audit('admin', 'queue.purge', null, 'q', '', '{}')")
    shop.execute("select signalbox._audit_verb('queue.purge', null, 'q', '{}')")
    shop.execute("select signalbox.record_audit('queue.purge', %s)", [name])
    for statement in (
        "insert into signalbox.audit_event (actor, action) values ('admin', 'queue.purge')",
        "update signalbox.audit_head set position = 5",
        "select from signalbox.audit_event",
        "delete from signalbox.audit_head",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            shop.execute(statement.encode())

    events = AuditEvent.objects.filter(audit_event_id__gt=before)
    assert {(e.actor, e.database_role, e.reason) for e in events} == {(actor, shop.info.user, "")}
    assert len(events) == 4


def test_a_name_is_noted_for_the_block_only(name: str) -> None:
    from django.db import transaction

    from queues.messages import client

    before = newest()
    with transaction.atomic():
        with audit.acting("ana"):
            client().create_queue(name)
        client().create_queue(f"{name}-2")

    first, second = rows_since(before)
    assert first[0] == "ana"
    assert second[0].startswith("sql:")


@pytest.mark.parametrize(
    "broken",
    [
        "update signalbox.audit_head set position = 1",
        "update signalbox.audit_head set position = 9223372036854775807",
        "delete from signalbox.audit_head",
    ],
)
def test_an_edited_head_stops_no_action(connect: Connect, broken: str) -> None:
    session = connect()
    audit.record("ana", "test.before")
    session.execute("begin")
    session.execute(broken.encode())
    row = session.execute("select max(position) from signalbox.audit_event").fetchone()
    assert row is not None
    session.execute("select signalbox._record_audit('ana', 'test.after', null, '', '', '{}')")
    session.execute("set constraints all immediate")

    after = session.execute(
        "select position from signalbox.audit_event where action = 'test.after' order by 1 desc limit 1"
    )
    left_out = "delete" in broken or "9223" in broken  # rows may have been taken from the end
    assert after.fetchone() == (row[0] + 1 + left_out,)
    complaint = session.execute("select complaint from signalbox.verify_audit()").fetchone()
    session.execute("rollback")
    assert complaint == ("the row before it is missing" if left_out else None,)


@pytest.mark.parametrize(
    "details", ["""('{"n": 1e5000}')""", """('{"n": ' || repeat('[', 1000) || repeat(']', 1000) || '}')"""]
)
def test_no_row_keeps_others_from_reading_the_audit(shop: psycopg.Connection[Any], details: str) -> None:
    before = newest()
    with pytest.raises(psycopg.Error) as caught:
        shop.execute(f"select signalbox.record_audit('shop.close', details => {details}::jsonb)".encode())
    assert caught.value.sqlstate == "SB400"
    assert rows_since(before) == []
