"""What the worker of the product runs: it notes that it was given a message, and that it is done with it.

The worker acks when the handler has returned, and nobody here sees whether that worked: an ack of unknown outcome.
"""

from __future__ import annotations

import os
import time
from functools import cache
from pathlib import Path

from signalbox import Message
from tests.chaos.client import described
from tests.chaos.history import OK, Journal
from tests.chaos.queues import VISIBILITY_SECONDS

FOLDER = "CHAOS_HISTORY"


@cache
def journal() -> Journal:
    return Journal(Path(os.environ[FOLDER]) / f"worker-{os.getpid()}-{time.time_ns()}.jsonl")


def handle(message: Message) -> None:
    number = journal().invoke("receive", queue="work", most=1, visibility=VISIBILITY_SECONDS, durable=False)
    journal().complete(number, OK, messages=[described(message)])
    time.sleep(0.005)
    journal().invoke("ack", handles=[message.receipt_handle])
