"""Verbs over many messages, which jobs call batch by batch, over Django's connection and in its transaction.

They raise the errors of `queues.errors` where the engine refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from queues.database.query import Query, verb_rows, verb_value
from queues.database.sql_names import rendered


@dataclass(frozen=True)
class Settled:
    """Outcomes that a step recorded: messages examined, the last redriven_id, and a code and an id for each outcome."""

    looked: int
    last_id: int | None
    outcomes: str
    redriven_ids: list[int]


def redrive(
    ids: Sequence[int], target_queue: str | None, redrive_id: int, actor: str, payloads: str | None = None
) -> int:
    """Send these dead letters again, some with other `payloads` (a JSON object by id); return how many were sent."""
    statement = "select count(*) from signalbox._redrive(%s::bigint[], %s::text, %s::bigint, %s::text, %s::jsonb)"
    return _number(statement, list(ids), target_queue, redrive_id, actor, payloads)


def replay(taken: Query, queue: str, redrive_id: int, actor: str) -> list[tuple[int, str | None]]:
    """Send archived messages as new ones: `taken` selects and locks REPLAY_COLUMNS of them.

    Returns the id of each message that still exists, and why it was held back, or None. Raises `QuotaExceeded` when a
    limit does not allow all of them.
    """
    given = ", ".join(f"array_agg(t.{column} order by t.message_id)" for column in REPLAY_COLUMNS)
    statement = (
        f"with taken as materialized ({taken.sql}), given ({', '.join(REPLAY_COLUMNS)}) as materialized ("  # noqa: S608
        f" select {given} from taken t)"
        " select r.archived_id, r.kept_because from given g cross join lateral signalbox._replay("
        f"%s::text, {', '.join(f'g.{column}' for column in REPLAY_COLUMNS)}, %s::bigint, %s::text) r"
        " where g.message_id is not null"
    )
    return verb_rows(statement, *taken.params, queue, redrive_id, actor)


REPLAY_COLUMNS = (
    *("message_id", "payload", "attributes", "priority", "group_id", "deduplication_id", "trace_id"),
    *("body_sha256", "fingerprint"),
)


def settle_redriven(redrive_id: int, after: int, most: int) -> Settled:
    """Record outcomes of some messages of a redrive; the caller holds the redrive's row."""
    statement = "select * from signalbox.settle_redriven(%s::bigint, %s::bigint, %s::int)"
    [row] = verb_rows(statement, redrive_id, after, most)
    return Settled(*row)


def newest_redriven() -> int:
    """Read the highest redriven_id that was given out."""
    return _number("select coalesce(pg_sequence_last_value('signalbox.redriven_id'::regclass), 0)")


def delete_dead_letters(ids: Sequence[int], trash_batch_id: int | None = None) -> int:
    """Delete these dead letters, permanently without a trash batch; return how many existed."""
    return _number(_DELETE, list(ids), trash_batch_id)


# As delete_dead_letters does, without its row in the audit: the job has one.
_DELETE = rendered(
    "select signalbox._delete_dead_letters("
    "%s::bigint[], {outcome.purged}, {event.purged_dead}, {event.purged_held}, %s::bigint)"
)


def purge(
    queue: str,
    states: Sequence[str],
    through_message_id: int,
    through_dead_letter_id: int,
    most: int,
    trash_batch_id: int | None = None,
) -> int:
    """Purge at most `most` messages, permanently without a trash batch; return how many, 0 at the end."""
    statement = "select signalbox._purge(%s::text, %s::bigint, %s::text[], %s::int, %s::bigint, %s::bigint)"
    return _number(statement, queue, through_message_id, list(states), most, through_dead_letter_id, trash_batch_id)


def open_trash_batch(keep_seconds: float) -> int:
    """Open a trash batch, whose messages can be restored for `keep_seconds`; return its id."""
    return _number("select signalbox.open_trash_batch(%s)", keep_seconds)


def hold_trash_batch(trash_batch_id: int, seconds: float) -> bool:
    """Keep the messages of a trash batch for at least `seconds` from now. False when it is empty."""
    return bool(verb_value("select signalbox.hold_trash_batch(%s, %s)", trash_batch_id, seconds))


def restore(
    trash_batch_id: int, after_position: int, after_message_id: int, most: int
) -> tuple[int, int, tuple[int, int] | None]:
    """Restore at most `most` messages; return (restored, skipped, cursor for the next call or None at the end)."""
    [(restored, skipped, position, message_id)] = verb_rows(
        "select restored, skipped, last_position, last_message_id"
        " from signalbox.restore(%s::bigint, %s::bigint, %s::bigint, %s::int)",
        *(trash_batch_id, after_position, after_message_id, most),
    )
    return restored, skipped, None if position is None else (position, message_id)


def erase_messages(
    erasure_id: int, message_ids: Sequence[int], queue_ids: Sequence[int | None], live: str, place: str
) -> list[tuple[int, str, str | None, str]]:
    """Erase the contents of these messages; return (id, place, state before, state now) of each."""
    statement = "select * from signalbox.erase_messages(%s::bigint, %s::bigint[], %s::int[], %s::text, %s::text)"
    return verb_rows(statement, erasure_id, list(message_ids), list(queue_ids), live, place)


def erase_body(erasure_id: int, sha256: bytes) -> bool | None:
    """Delete the row of a large body. True: the caller removes the object, then commits. None: it is already gone."""
    gone: bool | None = verb_value("select signalbox.erase_body(%s::bigint, %s::bytea)", erasure_id, sha256)
    return gone


def erase_stream_messages(erasure_id: int, stream_id: int, partitions: Sequence[int], positions: Sequence[int]) -> int:
    """Erase the contents of these messages of a stream; return how many existed."""
    statement = "select signalbox.erase_stream_messages(%s::bigint, %s::int, %s::smallint[], %s::bigint[])"
    return _number(statement, erasure_id, stream_id, list(partitions), list(positions))


def erase_causes(erasure_id: int, fingerprints: Sequence[str], needles: Sequence[str]) -> int:
    """Erase the sample errors of these failure groups; return how many existed."""
    statement = "select signalbox.erase_causes(%s::bigint, %s::text[], %s::text[])"
    return _number(statement, erasure_id, list(fingerprints), list(needles))


def _number(statement: str, *parameters: Any) -> int:
    return int(verb_value(statement, *parameters))
