"""A task that Python cannot read is buried by itself; those around it run."""

from __future__ import annotations

from typing import Any

from kombu import Connection, Consumer

from signalbox import Client
from tests.celery_broker.conftest import broker_url, wait_until
from tests.engine import Engine
from tests.poison import each_poison, spoil


@each_poison
def test_its_neighbours_are_consumed(dsn: str, engine: Engine, poison: str) -> None:
    with Client(dsn) as client:
        ids = client.send_batch(engine.queue, [{"n": n} for n in range(3)])
    spoil(engine.connection, ids[1], poison)
    seen: list[Any] = []

    def note(body: Any, message: Any) -> None:
        seen.append(body)
        message.ack()

    with Connection(broker_url(dsn)) as connection:
        queue = connection.SimpleQueue(engine.queue).queue
        with Consumer(connection.channel(), [queue], callbacks=[note], accept=["json"]):
            for _ in range(20):
                try:
                    connection.drain_events(timeout=1)
                except TimeoutError:
                    break
                except Exception as error:
                    assert type(error).__name__ == "MessageUnreadable"  # whoever drains by hand is told
                if len(seen) == 2 and _death(engine, ids[1]):
                    break

        wait_until(lambda: _death(engine, ids[1]))

    assert seen == [{"n": 0}, {"n": 2}]
    assert _death(engine, ids[1]) == ("rejected", "MessageUnreadable", 1)


@each_poison
def test_mail_that_no_broker_sent_is_dropped(dsn: str, engine: Engine, poison: str) -> None:
    from signalbox.celery_broker.mailboxes import Mailbox

    name = f"{engine.queue}-mail"
    envelope = '{"body": "1", "properties": {}, "headers": {}}'
    engine.value("select signalbox.open_mailbox(%s, 60, 60)", name)
    for _ in range(3):
        engine.value("select signalbox.put_mail(%s, %s::jsonb)", name, envelope)
    engine.connection.execute(
        "update signalbox.mail set body = %s::jsonb where mail_id = ("
        " select min(l.mail_id) + 1 from signalbox.mail l join signalbox.mailbox m using (mailbox_id) where m.name = %s)",
        [poison, name],
    )

    with Client(dsn) as client:
        mailbox = Mailbox(name)
        assert [mailbox.next(client) is not None for _ in range(3)] == [True, True, False]


def _death(engine: Engine, message_id: int) -> Any:
    found = engine.rows(
        "select reason, error_class, receive_count from signalbox.dead_letter where message_id = %s", message_id
    )
    return found[0] if found else None
