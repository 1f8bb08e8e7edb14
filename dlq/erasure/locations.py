"""The locations of an erasure in order, and functions that erase rows that are not messages of queues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from dlq.erasure.target import SHORTEST_QUOTED, Target
from queues import bulk_verbs
from queues.database.names import queue_id_by_name
from queues.erasure import finds
from queues.erasure.locations import DEAD, KEPT, LOG, REWRITTEN, STREAMS, TRASH, Location, Page, Row, Scope


@dataclass(frozen=True)
class Causes:
    """Samples of errors that failure groups keep, and samples that upkeep has not added to a group yet."""

    name: str = "causes"
    words: str = "samples of errors in failure groups"

    def page(self, scope: Scope, after: Sequence[Any], limit: int) -> Page:
        if len(scope.text) < SHORTEST_QUOTED:
            return Page((), 0, None)
        queue_ids = None if scope.queue_ids is None else list(scope.queue_ids)
        pending = [] if after else finds.pending_samples(queue_ids)
        kept = finds.samples(after[0] if after else "", queue_ids, limit)
        rows = [Row(None, 0, text, None, (fingerprint,), plain=True) for fingerprint, text in [*pending, *kept] if text]
        return Page(rows, len(kept), [kept[-1][0]] if len(kept) == limit else None)

    def estimate(self) -> int:
        return finds.number_of_groups()


Walk = Location | Causes
"""A location that is read page by page."""
STAGED = Location(
    "staged",
    "staged replays: selected from the archive, and not sent yet",
    "signalbox.staged_message",
    keys=2,
    rows=f"""
select array[t.staging_id, t.message_id], {queue_id_by_name("t.queue")}, t.message_id, t.payload, t.attributes,
  t.body_sha256, t.sent_at
from signalbox.staged_message t
where (t.staging_id, t.message_id) > (%(after0)s::bigint, %(after1)s::bigint)
order by t.staging_id, t.message_id
""",  # noqa: S608
)
CAUSES = Causes()
SENDING: tuple[Walk, ...] = (STAGED, STREAMS, TRASH, DEAD)
"""Locations whose rows may be sent as new messages: by replays, subscriptions, restores and receives of dead letters.
The highest message id of the erasure is fixed after them, so that it includes these copies.
"""
TRASH_AGAIN = replace(TRASH, name="trash_again", words="the trash again: messages deleted during the search")
WALKS: tuple[Walk, ...] = (*SENDING, REWRITTEN, LOG, KEPT, TRASH_AGAIN, CAUSES)
"""The order follows the moves of messages, so that a message that moves during the search is found later."""
CAUSES_AGAIN = Causes("causes_again", "samples of errors again: from messages in flight during the search")
STAGED_AGAIN = replace(
    STAGED, name="staged_again", words="staged replays again: selected before the archive was erased"
)
LATE: tuple[Walk, ...] = (CAUSES_AGAIN, STAGED_AGAIN)
"""Locations that are read again after all messages, and after the archive, were erased."""


def _erase_staged(erasure_id: int, target: Target, rows: Sequence[Row]) -> int:
    """Erase staged messages. Waits for a message that is being sent, which then is a message of its queue."""
    with connection.cursor() as cursor:
        cursor.execute(
            "update signalbox.staged_message t"
            " set payload = %s, attributes = null, body_sha256 = null, body_bytes = null"
            " from unnest(%s::bigint[], %s::bigint[]) g(staging_id, message_id)"
            " where t.staging_id = g.staging_id and t.message_id = g.message_id",
            [f'{{"erased": "{erasure_id}"}}', [row.key[0] for row in rows], [row.key[1] for row in rows]],
        )
        erased: int = cursor.rowcount
        return erased


def _erase_stream_messages(erasure_id: int, target: Target, rows: Sequence[Row]) -> int:
    erased = 0
    for stream_id in sorted({row.key[0] for row in rows}):
        keys = [row.key for row in rows if row.key[0] == stream_id]
        partitions, positions = [key[1] for key in keys], [key[2] for key in keys]
        erased += bulk_verbs.erase_stream_messages(erasure_id, stream_id, partitions, positions)
    return erased


def _erase_causes(erasure_id: int, target: Target, rows: Sequence[Row]) -> int:
    fingerprints = sorted({str(row.key[0]) for row in rows})
    return bulk_verbs.erase_causes(erasure_id, fingerprints, [target.text, *target.needles])


ERASE: Mapping[str, Callable[[int, Target, Sequence[Row]], int]] = {
    STAGED.name: _erase_staged,
    STAGED_AGAIN.name: _erase_staged,
    STREAMS.name: _erase_stream_messages,
    CAUSES.name: _erase_causes,
    CAUSES_AGAIN.name: _erase_causes,
}
"""Functions for locations whose rows are not messages of queues; other rows are erased by message id."""
