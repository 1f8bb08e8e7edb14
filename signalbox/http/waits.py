"""A wait that is longer than one request may take, as several."""

from __future__ import annotations

import time
from collections.abc import Iterator

from signalbox import arguments
from signalbox.http.calls import MAX_WAIT_SECONDS


def waits(wait_seconds: float) -> Iterator[float]:
    """How long each request in turn may wait, until the time is over; always one, if only to look."""
    left = arguments.seconds("wait_seconds", wait_seconds)
    ends_at = time.monotonic() + left
    while True:
        yield min(left, MAX_WAIT_SECONDS)
        left = ends_at - time.monotonic()
        if left <= 0:
            return
