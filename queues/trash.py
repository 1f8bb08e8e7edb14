"""Contents of a trash batch, by queue and state."""

from __future__ import annotations

from dataclasses import dataclass

from queues.database.query import Query, query_text


@dataclass(frozen=True)
class Part:
    """Messages of one queue and state in a trash batch; `id_taken` of them cannot be restored."""

    queue: str | None
    state: str
    messages: int
    id_taken: int
    paused: bool
    closed: bool


def read_parts(trash_batch_id: int, limit: int) -> list[Part]:
    """Read the first messages of a trash batch, by the queue and state to which they would be restored."""
    return [Part(*row) for row in Query(_PARTS, [trash_batch_id, limit]).rows()]


_PARTS = query_text("trash/parts")
