"""Senders, consumers, the collector and the sweep at once, over a real folder: no message ever misses its body."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from queues.bodies import StoredBodies, WholeFiles
from queues.upkeep.body_collection import collect, sweep
from signalbox import Client
from signalbox.payloads.bodies import INLINE_BYTES
from tests.engine import Engine
from tests.races.sessions import finish, start

Connect = Callable[..., psycopg.Connection[Any]]
CONTENTS = 3
SENDS = 30
FORGET = """
with gone as (
  delete from signalbox.message where queue_id = %(queue)s and message_id = %(message)s returning message_id
)
delete from signalbox.body_pointer where message_id in (select message_id from gone)
"""
"""What the end of a segment does to a settled message, without waiting days for it."""


def content(engine: Engine, number: int) -> str:
    return f"{engine.queue} {number} " + "x" * INLINE_BYTES


def send_many(engine: Engine, session: psycopg.Connection[Any], store: StoredBodies, seed: int) -> int:
    """Send the same few bodies again and again, some of them in transactions that are rolled back; how many stayed."""
    chosen, client, sent = random.Random(seed), Client(session, bodies=store), 0
    for _ in range(SENDS):
        client.send(engine.queue, content(engine, chosen.randrange(CONTENTS)))
        if chosen.random() < 0.3:
            session.rollback()
        else:
            session.commit()
            sent += 1
    return sent


def receive_all(engine: Engine, session: psycopg.Connection[Any], store: StoredBodies, over: threading.Event) -> int:
    """Look at every payload, settle the message and forget it, until nothing comes and the senders are done."""
    client, received = Client(session, bodies=store), 0
    while True:
        last = over.is_set()
        messages = client.receive(engine.queue, 5)
        for message in messages:
            assert message.payload in [content(engine, number) for number in range(CONTENTS)]
            client.ack(message)
            session.execute(FORGET, {"queue": engine.queue_id, "message": message.id})
        received += len(messages)
        if last and not messages:
            return received


def clean_up(session: psycopg.Connection[Any], store: StoredBodies, over: threading.Event) -> int:
    """Collect and sweep without any grace time, unlike an installation."""
    removed = 0
    while not over.is_set():
        removed += collect(session, store, 0).removed
        removed += sweep(session, store, now=lambda: datetime.now(UTC) + timedelta(days=2)).orphans
    return removed


@pytest.mark.timeout(900)
def test_no_message_misses_its_body_whatever_happens_at_once(engine: Engine, connect: Connect, tmp_path: Path) -> None:
    store = StoredBodies(WholeFiles(location=tmp_path), 1_000_000)
    sent_all, read_all = threading.Event(), threading.Event()

    cleaning = start(clean_up, connect(), store, read_all)
    receiving = [start(receive_all, engine, connect(), store, sent_all) for _ in range(2)]
    sending = [start(send_many, engine, connect(autocommit=False), store, seed) for seed in range(3)]
    try:
        sent = sum(future.result(300) for future in sending)
        sent_all.set()
        received = sum(future.result(300) for future in receiving)
    finally:
        sent_all.set()
        read_all.set()
    removed = finish(cleaning)

    assert received == sent
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)
    session = connect()
    removed += collect(session, store, 0).removed
    sweep(session, store, now=lambda: datetime.now(UTC) + timedelta(days=2))
    assert removed > 0
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
