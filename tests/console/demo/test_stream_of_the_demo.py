"""The stream of the demo, which sends what filters select to two queues."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from console.demo import streams
from console.demo.scenery import FED
from queues.control.queues import create_queue
from signalbox import Client

pytestmark = pytest.mark.usefixtures("commits")


def test_the_stream_feeds_two_queues_by_filters(dsn: str) -> None:
    handled: set[Any] = {queue.name for queue in FED}
    assert streams.FEEDS.keys() <= handled
    for queue in streams.FEEDS:
        create_queue(queue, tenant=streams.TENANT, actor="demo")
    streams.build()
    streams.build()
    with Client(dsn) as client:
        for event in streams.EVENTS:
            client.append(streams.STREAM, {"event": event}, key="customer-1")
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("select signalbox.feed_queues()")
        for queue, text in streams.FEEDS.items():
            (message,) = client.receive(queue, 10)
            assert message.payload["event"] == text.removeprefix("payload.event:")
            client.ack(message)
