"""Consumers that really receive and settle, in a thread beside the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.engine import Engine, Row


@contextmanager
def consumer(
    engine: Engine, connection: psycopg.Connection[Any], settle: Callable[[Engine, Row], None]
) -> Iterator[None]:
    """Consumer that receives from the queue until the block ends, and settles each message as configured."""
    stop, own = threading.Event(), engine.on(connection)

    def run() -> None:
        while not stop.is_set():
            rows = own.receive(10, consumer="worker-1")
            for row in rows:
                settle(own, row)
            stop.wait(0 if rows else 0.02)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def succeed(engine: Engine, row: Row) -> None:
    engine.ack(row[1])


def fail(engine: Engine, row: Row) -> None:
    engine.nack(row[1], reason="rejected", error_class="TimeoutError", error="timed out")
