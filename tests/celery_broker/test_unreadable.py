"""What Python cannot read is no message of Celery's: it is named, and mail around it arrives."""

from __future__ import annotations

import pytest

from signalbox import Client, MessageUnreadable
from signalbox.celery_broker.envelopes import opened
from signalbox.celery_broker.mailboxes import Mailbox
from tests.engine import Engine
from tests.poison import each_poison, spoil


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
