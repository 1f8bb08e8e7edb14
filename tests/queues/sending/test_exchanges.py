"""Mailboxes end with their owner; bindings lead what is published to queues and mailboxes."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def name() -> str:
    """Mailbox and exchange of this test only."""
    return f"name-{uuid.uuid4().hex}"


def routes(engine: Engine, exchange: str, key: str) -> list[Any]:
    return engine.rows("select name, is_mailbox from signalbox.route(%s, %s)", exchange, key)


def mail(engine: Engine, name: str) -> list[Any]:
    return [row[0] for row in engine.rows("select body from signalbox.take_mail(array[%s])", name)]


def test_mail_is_taken_once_and_in_order(engine: Engine, name: str) -> None:
    engine.value("select signalbox.open_mailbox(%s)", name)
    for number in (1, 2, 3):
        assert engine.value("select signalbox.put_mail(%s, to_jsonb(%s))", name, number)

    assert mail(engine, name) == [1, 2, 3]
    assert mail(engine, name) == []


def test_opening_a_mailbox_again_keeps_what_it_has(engine: Engine, name: str) -> None:
    first = engine.value("select signalbox.open_mailbox(%s)", name)
    engine.value("select signalbox.put_mail(%s, '1')", name)

    assert engine.value("select signalbox.open_mailbox(%s, 30)", name) == first
    assert mail(engine, name) == [1]


def test_messages_without_a_mailbox_are_dropped(engine: Engine, name: str) -> None:
    assert engine.value("select signalbox.put_mail(%s, '1')", name) is False
    engine.value("select signalbox.open_mailbox(%s)", name)
    assert mail(engine, name) == []


def test_the_owner_is_notified_of_the_first_mail_only(engine: Engine, connect: Connect, name: str) -> None:
    mailbox_id = engine.value("select signalbox.open_mailbox(%s)", name)
    listening = connect()
    listening.execute("listen signalbox_ready")

    for number in (1, 2):
        engine.value("select signalbox.put_mail(%s, to_jsonb(%s))", name, number)
    engine.value("select pg_notify('signalbox_ready', 'over')")

    told = []
    for notification in listening.notifies(timeout=120):
        if notification.payload == "over":
            break
        told.append(notification.payload)
    assert told.count(f"mail/{mailbox_id}") == 1


def test_a_mailbox_without_an_owner_expires_with_all_it_has(engine: Engine, name: str) -> None:
    engine.value("select signalbox.open_mailbox(%s)", name)
    engine.value("select signalbox.bind_queue('e', 'direct', %s, %s)", name, name)
    engine.value("select signalbox.put_mail(%s, '1')", name)
    expire(engine, name)

    while engine.value("select exists (select from signalbox.mailbox where name = %s)", name):
        engine.value("select signalbox.expire_mailboxes()")

    assert routes(engine, "e", name) == []
    assert engine.rows("select signalbox.keep_mailboxes(array[%s])", name) == [(name,)]


def test_a_sign_of_its_owner_keeps_a_mailbox(engine: Engine, name: str) -> None:
    engine.value("select signalbox.open_mailbox(%s)", name)
    expire(engine, name)

    assert engine.rows("select signalbox.keep_mailboxes(array[%s])", name) == []
    engine.value("select signalbox.expire_mailboxes()")
    assert engine.value("select signalbox.put_mail(%s, '1')", name)


def expire(engine: Engine, name: str) -> None:
    engine.rows(
        "update signalbox.mailbox set expires_at = clock_timestamp() - interval '1 s' where name = %s returning 1", name
    )


def test_mail_that_is_too_old_is_dropped(engine: Engine, name: str) -> None:
    mailbox_id = engine.value("select signalbox.open_mailbox(%s)", name)
    engine.value("select signalbox.put_mail(%s, '1')", name)
    engine.rows(
        "update signalbox.mail set expires_at = clock_timestamp() - interval '1 s' where mailbox_id = %s returning 1",
        mailbox_id,
    )

    assert mail(engine, name) == []


@pytest.mark.parametrize(
    ("kind", "bound", "key", "reaches"),
    [
        ("fanout", "", "anything", True),
        ("direct", "a.b", "a.b", True),
        ("direct", "a.b", "a.c", False),
        ("direct", "a.*", "a.b", False),
        ("topic", "a.*", "a.b", True),
        ("topic", "a.*", "a.b.c", False),
        ("topic", "a.*", "a", False),
        ("topic", "a.#", "a", True),
        ("topic", "a.#", "a.b.c", True),
        ("topic", "#.c", "a.b.c", True),
        ("topic", "#", "", True),
        ("topic", "a.b", "aXb", False),
        ("topic", "a+(b", "a+(b", True),
        ("topic", "", "a", False),
    ],
)
def test_what_is_bound_is_reached(engine: Engine, name: str, kind: str, bound: str, key: str, *, reaches: bool) -> None:
    engine.value("select signalbox.bind_queue(%s, %s, %s, %s)", name, kind, bound, engine.queue)
    engine.value("select signalbox.bind_queue(%s, %s, %s, %s)", name, kind, bound, engine.queue)

    assert routes(engine, name, key) == ([(engine.queue, False)] if reaches else [])


def test_what_is_unbound_is_reached_no_more(engine: Engine, name: str) -> None:
    engine.value("select signalbox.open_mailbox(%s)", name)
    engine.value("select signalbox.bind_queue(%s, 'fanout', '', %s)", name, name)
    engine.value("select signalbox.bind_queue(%s, 'fanout', '', %s)", name, engine.queue)
    assert dict(routes(engine, name, "")) == {engine.queue: False, name: True}

    assert engine.value("select signalbox.unbind_queue(%s, '', %s)", name, name)

    assert routes(engine, name, "") == [(engine.queue, False)]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ("signalbox.bind_queue('', 'direct', '', 'q')", "exchange"),
        ("signalbox.bind_queue('e', 'headers', '', 'q')", "kind"),
        ("signalbox.bind_queue('e', 'direct', null, 'q')", "routing_key"),
        ("signalbox.open_mailbox('')", "name"),
        ("signalbox.open_mailbox('m', 0)", "keep_seconds"),
        ("signalbox.open_mailbox('m', 60, null)", "mail_seconds"),
        ("signalbox.put_mail('m', null)", "body"),
    ],
)
def test_a_mistake_is_named(engine: Engine, call: str, field: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        engine.value(f"select {call}")

    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", field)


def test_a_queue_that_exists_keeps_its_settings(engine: Engine) -> None:
    engine.value("select signalbox.configure_queue(%s, '{\"max_receives\": 9}')", engine.queue)

    assert engine.value("select signalbox.declare_queue(%s, '{\"max_receives\": 3}')", engine.queue) == engine.queue_id
    assert engine.value("select max_receives from signalbox.queue where name = %s", engine.queue) == 9


def test_a_queue_that_is_declared_is_made_with_its_settings(engine: Engine, name: str) -> None:
    queue_id = engine.value("select signalbox.declare_queue(%s, '{\"max_receives\": 3}', 'shop')", name)

    assert engine.rows(
        "select q.queue_id, q.max_receives, t.name from signalbox.queue q join signalbox.tenant t using (tenant_id)"
        " where q.name = %s",
        name,
    ) == [(queue_id, 3, "shop")]
    with pytest.raises(psycopg.Error) as refused:
        engine.value("select signalbox.declare_queue(%s, '{\"max_receives\": 0}')", f"{name}-other")
    assert refused.value.sqlstate == "SB400"
