"""Telling the console who consumes."""

from __future__ import annotations

import logging
import os
import socket
import time
from typing import Any

from signalbox.errors import QueueNotFound

logger = logging.getLogger(__name__)


class Presence:
    """Tells the console that this process consumes a queue."""

    seconds = 10.0

    def __init__(self, queue: str, consumer: str) -> None:
        self._queue = queue
        self._consumer = consumer
        self._details = {"host": socket.gethostname(), "pid": os.getpid(), "handler": "Celery"}
        self.due_at = 0.0

    def run(self, client: Any) -> None:
        """Say so."""
        self.due_at = time.monotonic() + self.seconds
        try:
            client.announce_consumer(self._queue, self._consumer, self._details)
        except QueueNotFound:
            logger.debug("The queue %s is gone", self._queue)
