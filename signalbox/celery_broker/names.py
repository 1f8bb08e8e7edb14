"""What a queue of Celery's is called in the engine."""

from __future__ import annotations

import hashlib
import re

#: Names that the engine takes as they are.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,89}")


def engine_name(queue: str) -> str:
    """The queue's name in the engine: its own, or one made of it where the engine would not take it."""
    if _PLAIN_NAME.fullmatch(queue):
        return queue
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", queue).strip("-._")[:80] or "queue"
    return f"{plain}-{hashlib.sha256(queue.encode()).hexdigest()[:8]}"
