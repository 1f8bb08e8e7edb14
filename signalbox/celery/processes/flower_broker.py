"""Flower's broker tab: how many messages the queues have.

Flower picks its reader of queues by the scheme of the broker URL. The transport imports this module in a process of
Flower's, so that the scheme `signalbox` has a reader too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from flower.utils import broker
from kombu import Connection

from signalbox.celery.calls import engine_name
from signalbox.client import Client
from signalbox.errors import QueueNotFound

_of_other_schemes = broker.Broker.__new__


class QueueReader:
    """Flower's view of a broker, over the connection that an application of Celery's would have."""

    def __init__(self, broker_url: str, broker_options: Mapping[str, Any] | None) -> None:
        self._broker_url = broker_url
        self._options = dict(broker_options or {})

    async def queues(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the messages of these queues; those that do not exist yet are left out."""
        return await asyncio.to_thread(self._read, names)

    def _read(self, names: Sequence[str]) -> list[dict[str, Any]]:
        rows = []
        with Connection(self._broker_url, transport_options=self._options) as connection:
            for name in names:
                with suppress(QueueNotFound):
                    rows.append(_row(name, connection.transport.verbs))
        return rows


def _row(name: str, verbs: Client) -> dict[str, Any]:
    messages = verbs.describe_queue(engine_name(name)).messages or {}
    return {
        "name": name,
        "messages": sum(messages.values()),
        "messages_unacknowledged": messages["leased"],
        "messages_ready": messages["ready"],
    }


def _reader(cls: type, broker_url: str, *arguments: Any, **options: Any) -> Any:
    if urlsplit(broker_url).scheme == "signalbox":
        return QueueReader(broker_url, options.get("broker_options"))
    return _of_other_schemes(cls, broker_url, *arguments, **options)


broker.Broker.__new__ = _reader
