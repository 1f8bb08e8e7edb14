"""Messages that Python cannot read are reported, and messages around them arrive."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from kombu import Connection, Queue

from signalbox import Client, MessageUnreadable
from signalbox.celery.envelopes import opened
from signalbox.celery.mailboxes import Mailbox
from tests.engine import Engine
from tests.poison import POISONS, each_poison, spoil
from tests.signalbox.celery.conftest import Shop, broker_url, wait_until

pytestmark = pytest.mark.timeout(300)


def spoil_newest(shop: Shop, poison: str) -> None:
    """Make the payload of the message that was sent last unreadable."""
    with psycopg.connect(shop.dsn, autocommit=True) as connection:
        newest = connection.execute(
            "select max(m.message_id) from signalbox.message m join signalbox.queue q using (queue_id)"
            " where q.name = %s",
            [shop.queue],
        ).fetchone()
        assert newest is not None
        spoil(connection, newest[0], poison)


def dead(shop: Shop) -> list[Any]:
    """The dead letters without their payloads, which cannot be read here either."""
    return shop.rows(
        "select attributes ->> 'task', reason, error_class, error, receive_count from signalbox.dead_letter"
        " where source_queue = %s",
        shop.queue,
    )


@pytest.mark.proof
def test_a_worker_rejects_it_and_does_its_neighbours(shop: Shop) -> None:
    with shop.app.connection_for_write() as connection:
        connection.default_channel.queue_declare(shop.queue)
    for name, poison in POISONS.items():
        shop.send("work", f"before {name}")
        shop.send("work", f"spoilt by {name}")
        spoil_newest(shop, poison)
    shop.send("work", "last")

    worker = shop.start_worker()
    wait_until(lambda: len(dead(shop)) == len(POISONS) or worker.process.poll() is not None, shop.logs)
    assert worker.process.poll() is None, shop.logs()
    shop.wait_done(len(POISONS) + 1)
    shop.wait_settled()

    assert shop.done() == sorted([*(f"before {name}" for name in POISONS), "last"])
    assert {letter[:3] for letter in dead(shop)} == {("shop.work", "rejected", "MessageUnreadable")}
    assert all(letter[3].startswith("payload is JSON that Python cannot read: ") for letter in dead(shop))
    assert {letter[4] for letter in dead(shop)} == {1}
    assert "shop.work could not be delivered: " in worker.said()
    assert worker.process.poll() is None


@each_poison
def test_a_caller_that_drains_gets_the_error_and_the_neighbours(shop: Shop, poison: str) -> None:
    received: list[Any] = []

    def receive(body: Any, message: Any) -> None:
        received.append(body)
        message.ack()

    with Connection(broker_url(shop.dsn), transport_options={"visibility_timeout": 3600.0}) as connection:
        connection.default_channel.queue_declare(shop.queue)
        with Client(shop.dsn) as client:
            client.send_batch(shop.queue, [{"n": 0}, {"n": 1}])
            spoil_newest(shop, poison)
            client.send(shop.queue, {"n": 2})
        with connection.Consumer(Queue(shop.queue), callbacks=[receive]):
            with pytest.raises(MessageUnreadable, match="payload is JSON that Python cannot read"):
                connection.drain_events(timeout=60)
            while len(received) < 2:
                connection.drain_events(timeout=60)

    assert received == [{"n": 0}, {"n": 2}]
    wait_until(lambda: dead(shop))
    assert [letter[1:3] for letter in dead(shop)] == [("rejected", "MessageUnreadable")]


@each_poison
def test_a_delivery_is_refused_by_name(dsn: str, engine: Engine, poison: str) -> None:
    with Client(dsn) as client:
        ids = client.send_batch(engine.queue, [{"n": n} for n in range(3)])
        spoil(engine.connection, ids[1], poison)
        first, second, third = client.receive(engine.queue, 10)

    assert [opened(one)["properties"]["delivery_info"]["message_id"] for one in (first, third)] == [ids[0], ids[2]]
    with pytest.raises(MessageUnreadable, match="payload is JSON that Python cannot read"):
        opened(second)


@each_poison
def test_mail_that_no_broker_sent_is_dropped(dsn: str, engine: Engine, poison: str) -> None:
    name = f"{engine.queue}-mail"
    engine.value("select signalbox.open_mailbox(%s, 60, 60)", name)
    for _ in range(3):
        envelope = '{"body": "1", "properties": {}, "headers": {}}'
        engine.value("select signalbox.put_mail(%s, %s::jsonb)", name, envelope)
    engine.connection.execute(
        "update signalbox.mail set body = %s::jsonb where mail_id = ("
        " select min(l.mail_id) + 1 from signalbox.mail l join signalbox.mailbox m using (mailbox_id)"
        " where m.name = %s)",
        [poison, name],
    )

    with Client(dsn) as client:
        mailbox = Mailbox(name)
        assert [mailbox.next(client) is not None for _ in range(3)] == [True, True, False]
