"""Load of many messages through the verbs, to show scale: most are completed, some wait, a few are dead letters."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable

from django.db import connection

from console.demo.producers import MESSAGES
from console.demo.workers import CorruptImageError
from queues.control.queues import create_queue
from queues.messages import client
from signalbox import Message

QUEUE = "orders-history"
BATCH = 1000
WAITING_SHARE = 0.25
FAILING_SHARE = 0.01


def load(count: int, say: Callable[[str], object]) -> None:
    """Send `count` messages to one queue, and receive three quarters of them. One in a hundred fails."""
    create_queue(QUEUE, {"max_receives": 1, "alert_oldest_age_seconds": 86_400}, tenant="acme", actor="demo")
    sent = 0
    payloads = [MESSAGES["orders-created"]()[0] for _ in range(BATCH)]
    while sent < count:
        size = min(BATCH, count - sent)
        client().send_batch(QUEUE, payloads[:size])
        sent += size
        if sent % 100_000 < BATCH:
            say(f"{sent:,} sent")
    done, wanted = 0, int(count * (1 - WAITING_SHARE))
    while done < wanted:
        messages = client().receive(QUEUE, min(BATCH, wanted - done), consumer="history loader")
        if not messages:
            break
        _work(messages)
        done += len(messages)
        if done % 100_000 < BATCH:
            say(f"{done:,} received")
    with connection.cursor() as cursor:
        cursor.execute("analyze")


def _work(messages: list[Message]) -> None:
    finished = []
    for message in messages:
        try:
            if random.random() < FAILING_SHARE:
                order = message.payload["order_id"]
                raise CorruptImageError(f"order {order}: attachment {message.id} cannot be decoded")
        except CorruptImageError as error:
            client().nack(
                message,
                error_class=type(error).__qualname__,
                error=str(error),
                details=traceback.format_exc(),
                reason="runtime_error",
            )
        else:
            finished.append(message)
    client().ack_batch(finished)
