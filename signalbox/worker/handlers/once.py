"""Handlers whose messages take effect once: each runs in a transaction that enters its message in the inbox."""

from __future__ import annotations

import functools
import threading
from typing import Any

import psycopg

from signalbox.client import Client
from signalbox.connections import pooling, primary_selection
from signalbox.errors import InvalidArgument
from signalbox.messages import Message
from signalbox.worker.handlers.naming import Handler, is_async


def once(handler: Handler, dsn: str) -> Handler:
    """Make a handler that calls `handler(message, connection)` in a transaction, unless the message was handled before.

    The handler's own work goes through the connection, and commits with the entry of the inbox before the ack.
    """
    check_plain(handler)
    local = threading.local()

    @functools.wraps(handler)
    def handle(message: Message) -> Any:
        connection = _connection(local, dsn)
        with connection.transaction():
            if Client(connection).once(message):
                return handler(message, connection)  # type: ignore[call-arg]
        return None

    return handle


def check_plain(handler: Handler) -> None:
    """Refuse a handler that is a coroutine function: the transaction belongs to a thread. Raises InvalidArgument."""
    if is_async(handler):
        raise InvalidArgument("--once takes a plain function: in a coroutine call `once` yourself", field="once")


def _connection(local: threading.local, dsn: str) -> psycopg.Connection[Any]:
    """Return the connection of this thread; a broken one is replaced."""
    known: psycopg.Connection[Any] | None = getattr(local, "connection", None)
    if known is None or known.closed or known.broken:
        options = pooling.prepared({"autocommit": True, "application_name": "signalbox handler"})
        local.connection = known = primary_selection.connect(dsn, **options)
    return known
