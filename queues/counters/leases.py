"""The leases of each queue, read from the start of an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues.database.query import fetch


@dataclass(frozen=True)
class Leases:
    """The leases of one queue at one moment."""

    held_seconds: float | None = None
    """How long the longest-held message is held, of the hundred whose leases end first; None: none is in flight."""
    expired: int = 0
    """Leases that have ended and whose messages were not returned yet, up to 1000."""


def read_leases(queue_ids: Sequence[int] | None = None) -> dict[int, Leases]:
    """Read the leases of these queues, of all when None. One query, however many queues and leases."""
    rows = fetch(
        "select queue_id, held_seconds, expired from signalbox.queue_leases(%s::integer[])",
        [list(queue_ids) if queue_ids is not None else None],
    )
    return {queue_id: Leases(held, expired) for queue_id, held, expired in rows}
