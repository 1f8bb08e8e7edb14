"""Limits of a tenant, which count all of its queues."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.queues.control.quotas import Connect, MakeEngine, evaluate, refusals, refused, send_batch


@pytest.fixture
def make_tenant(connect: Connect, make_engine: MakeEngine) -> Callable[..., list[Engine]]:
    """Make a tenant with these quotas and this number of queues."""

    def _make(queues: int, **quotas: float) -> list[Engine]:
        name = f"tenant-{uuid.uuid4().hex[:8]}"
        connection = connect()
        connection.execute("insert into signalbox.tenant (name) values (%s)", [name])
        if quotas:
            columns = ", ".join(f"{quota} = %s" for quota in quotas)
            connection.execute(
                f"update signalbox.tenant set {columns} where name = %s".encode(), [*quotas.values(), name]
            )
        engines = []
        for number in range(queues):
            row = connection.execute(
                "select signalbox.create_queue(%s, '{}', %s)", [f"{name}-{number}", name]
            ).fetchone()
            assert row is not None
            engines.append(Engine(connect(), f"{name}-{number}", row[0]))
        return engines

    return _make


def test_a_tenant_s_limit_counts_all_its_queues(make_tenant: Callable[..., list[Engine]]) -> None:
    first, second = make_tenant(2, max_backlog_messages=3, publish_rate_per_second=1000)
    first.send(1)
    second.send(2)
    first.send(3)

    for engine in (first, second):
        details = refused(engine.send, 4)
        assert (details["reason"], details["scope"], details["actual"]) == ("backlog", "tenant", 4)
        assert refusals(engine) == {"backlog": 1}


def test_what_the_tenant_refuses_takes_nothing_from_the_queue(make_tenant: Callable[..., list[Engine]]) -> None:
    (engine,) = make_tenant(1, max_backlog_messages=1)
    engine.value(
        "select signalbox.configure_queue(%s, %s)",
        engine.queue,
        Jsonb({"publish_rate_per_second": 0.03, "max_backlog_messages": 50}),
    )
    for _ in range(3):
        refused(send_batch, engine, [1, 2])
    refused(send_batch, engine, [1, 2], priorities=[1, 1])

    assert engine.send("first")


def test_a_tenant_s_messages_in_flight(make_tenant: Callable[..., list[Engine]]) -> None:
    first, second = make_tenant(2, max_in_flight=3)
    send_batch(first, [1, 2])
    send_batch(second, [1, 2])

    assert (len(first.receive(10)), len(second.receive(10))) == (2, 1)


def test_a_tenant_s_queues_are_counted_without_dead_letter_queues(make_tenant: Callable[..., list[Engine]]) -> None:
    first, second = make_tenant(2, max_queues=2)
    first.die("its dead-letter queue must have a place")
    (tenant,) = first.rows(
        "select t.name from signalbox.tenant t join signalbox.queue q using (tenant_id) where q.queue_id = %s",
        second.queue_id,
    )
    create = "select signalbox.create_queue(%s, '{}', %s)"

    assert refused(first.value, create, f"{first.queue}-more", *tenant) == {
        "reason": "queues",
        "limit": 2,
        "actual": 3,
        "retry_after": None,
        "scope": "tenant",
        "column": "max_queues",
    }
    assert first.value(create, first.queue, *tenant) == first.queue_id


def test_a_tenant_s_queues_keep_for_no_longer_than_it_may(make_tenant: Callable[..., list[Engine]]) -> None:
    (engine,) = make_tenant(1, max_retention_seconds=3600)
    configure = "select signalbox.configure_queue(%s, %s)"
    kept = "select retention_seconds from signalbox.queue where queue_id = %s"

    assert engine.value(kept, engine.queue_id) == 3600
    details = refused(engine.value, configure, engine.queue, Jsonb({"retention_seconds": 7200}))
    assert (details["reason"], details["limit"], details["actual"]) == ("retention", 3600, 7200)
    engine.value(configure, engine.queue, Jsonb({"retention_seconds": 600, "max_receives": 2}))
    assert engine.value(kept, engine.queue_id) == 600


def test_quotas_that_come_later_hold_for_the_queues_there_are(make_tenant: Callable[..., list[Engine]]) -> None:
    (engine,) = make_tenant(1)
    engine.send("before")
    engine.connection.execute(
        "update signalbox.tenant set max_backlog_messages = 1 where tenant_id ="
        " (select tenant_id from signalbox.queue where queue_id = %s)",
        [engine.queue_id],
    )

    assert refused(engine.send, "after")["scope"] == "tenant"


def test_dead_letters_that_are_received_are_not_taken_for_admitted(
    make_tenant: Callable[..., list[Engine]], connect: Connect
) -> None:
    """Dead letters count in the tenant's dead-letter queue; messages in flight elsewhere still count."""
    (engine,) = make_tenant(1, max_backlog_messages=10)
    for number in range(4):
        engine.die(number)
    sender = engine.on(connect())
    sender.connection.execute("begin")
    for number in range(4):
        sender.send(number)
    holder = Engine(engine.connection, f"{engine.queue}-dlq", engine.queue_id)
    assert len(holder.receive(4)) == 4
    evaluate(engine)

    for number in range(2):
        engine.send(number)
    assert refused(engine.send, "third")["actual"] == 11
    sender.connection.execute("commit")
