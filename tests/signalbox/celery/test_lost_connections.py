"""A producer that lives long, as that of beat does: what it could not publish during an outage ends nothing."""

from __future__ import annotations

import uuid
from typing import Any

import psycopg
import pytest
from kombu import Connection, Producer, Queue
from kombu.exceptions import OperationalError

import signalbox.celery  # noqa: F401 - a checkout has no entry points
from signalbox import Client
from signalbox.celery.envelopes import AS_JSON, unpacked
from tests.signalbox.celery.conftest import broker_url

ONCE = {"max_retries": 1, "interval_start": 0.01, "interval_step": 0, "interval_max": 0.01}


def end_session(connection: Connection, observer: psycopg.Connection[Any]) -> None:
    with connection.transport.verbs._connections.borrow() as own:
        pid = own.info.backend_pid
    observer.execute("select pg_terminate_backend(%s, 60000)", [pid])


@pytest.mark.proof
def test_a_producer_publishes_again_after_an_outage_that_outlasted_its_retries(
    dsn: str, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"kombu-{uuid.uuid4().hex[:12]}"
    queue = Queue(name, routing_key=name)
    with Connection(broker_url(dsn)) as connection, Client(dsn) as client:
        producer = Producer(connection, auto_declare=False)

        def publish(body: str) -> None:
            producer.publish([body], routing_key=name, declare=[queue], retry=True, retry_policy=ONCE)

        def refuse(*_: object, **__: object) -> None:
            raise psycopg.OperationalError("the database is away")

        publish("before")
        end_session(connection, connect())
        with monkeypatch.context() as away:
            away.setattr(psycopg, "connect", refuse)
            for _ in range(2):
                with pytest.raises(OperationalError):
                    publish("meanwhile")
        publish("after")

        bodies = [message.payload["body"] for message in client.receive(name, 10)]

    assert bodies == [["before"], ["after"]]


def test_a_publish_that_is_repeated_sends_what_the_first_one_would_have(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kombu gives the same properties again, and the body as it was before the first attempt had packed it."""
    name = f"kombu-{uuid.uuid4().hex[:12]}"
    send, failures = Client.send, [psycopg.OperationalError("the connection is gone")]

    def fail_once(client: Client, *arguments: Any, **options: Any) -> int:
        if failures:
            raise failures.pop()
        return send(client, *arguments, **options)

    monkeypatch.setattr(Client, "send", fail_once)
    with Connection(broker_url(dsn)) as connection, Client(dsn) as client:
        queue = Queue(name, routing_key=name)
        Producer(connection, auto_declare=False).publish(
            [[1], {}, {"chain": None}], routing_key=name, declare=[queue], retry=True, retry_policy=ONCE
        )
        (message,) = client.receive(name, 10)

    assert not failures
    assert message.payload["body"] == [[1], {}, {"chain": None}]


def test_a_body_that_a_repeated_publish_named_wrongly_is_read_as_it_was() -> None:
    assert unpacked("[[1], {}, {}]", AS_JSON) == "[[1], {}, {}]"
