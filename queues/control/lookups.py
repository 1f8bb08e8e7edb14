"""Statements that find a queue or a stream by a name, for programs with connections of their own, such as the HTTP API.

The header of each file in `queues/queries/queue_names/` and `queues/queries/streams/` says what its statement returns.
"""

from __future__ import annotations

from queues.database.query import query_text

QUEUE_BY_NAME, QUEUE_OF_OLD_NAME, FORMER_DEAD_LETTER_QUEUES, LONG_POLL_LIMIT = (
    query_text(f"queue_names/{name}")
    for name in ("queue_by_name", "queue_of_old_name", "former_dead_letter_queues", "long_poll_limit")
)

STREAM_BY_NAME = query_text("streams/stream_by_name")
