"""Handlers of the product's worker: they record the start and the end of each message.

The worker acks after the handler has returned; the handler does not see the result, so the ack has an unknown outcome.
"""

from __future__ import annotations

import os
import time
from functools import cache
from pathlib import Path

from signalbox import Message
from tests.chaos.company.client import described
from tests.chaos.company.queues import VISIBILITY_SECONDS
from tests.chaos.judging.history import OK, Journal

FOLDER = "CHAOS_HISTORY"


@cache
def journal() -> Journal:
    return Journal(Path(os.environ[FOLDER]) / f"worker-{os.getpid()}-{time.time_ns()}.jsonl")


def handle(message: Message) -> None:
    number = journal().invoke("receive", queue="work", most=1, visibility=VISIBILITY_SECONDS, durable=False)
    journal().complete(number, OK, messages=[described(message)])
    time.sleep(0.005)
    journal().invoke("ack", handles=[message.receipt_handle])
