"""The engine's verbs that jobs call, over Django's connection and in its transaction.

They raise the errors of `queues.errors` where the engine refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from psycopg.abc import Query

from queues.errors import translated


@dataclass(frozen=True)
class Settled:
    """A look at open outcomes: how many, up to which redriven_id, and a letter and id for each that became known."""

    looked: int
    last_id: int | None
    outcomes: str
    redriven_ids: list[int]


def redrive(
    ids: Sequence[int], target_queue: str | None, redrive_id: int, actor: str, payloads: str | None = None
) -> int:
    """Send these dead letters again, some with other `payloads` (a JSON object by id); returns how many went."""
    return _number(
        "select count(*) from signalbox._redrive(%s::bigint[], %s::text, %s::bigint, %s::text, %s::jsonb)",
        [list(ids), target_queue, redrive_id, actor, payloads],
    )


def replay(
    staging_id: int | None, ids: Sequence[int], queue: str, redrive_id: int, actor: str, payloads: str | None = None
) -> list[tuple[int, str | None]]:
    """Send these of a staging as new messages, some with other `payloads` (a JSON object by id).

    Each that is still there, with why it was kept back, or None. Raises `QuotaExceeded` when not all of them may go.
    """
    connection.ensure_connection()
    with translated():
        rows: list[tuple[int, str | None]] = connection.connection.execute(
            _REPLAY, [payloads, staging_id, list(ids), queue, redrive_id, actor]
        ).fetchall()
    return rows


_REPLAY = """
with taken as materialized (
  select s.message_id, coalesce(%s::jsonb -> s.message_id::text, s.payload::jsonb) as payload,
    s.attributes::jsonb as attributes, s.priority::int as priority,
    s.group_id, s.deduplication_id, s.trace_id, s.body_sha256, s.fingerprint
  from signalbox.staged_message s
  where s.staging_id = %s and s.message_id = any(%s::bigint[])
  order by s.message_id
  for update skip locked
), given as materialized (
  select array_agg(t.message_id order by t.message_id) as ids, array_agg(t.payload order by t.message_id) as payloads,
    array_agg(t.attributes order by t.message_id) as attributes,
    array_agg(t.priority order by t.message_id) as priorities,
    array_agg(t.group_id order by t.message_id) as group_ids,
    array_agg(t.deduplication_id order by t.message_id) as deduplication_ids,
    array_agg(t.trace_id order by t.message_id) as trace_ids,
    array_agg(t.body_sha256 order by t.message_id) as body_sha256s,
    array_agg(t.fingerprint order by t.message_id) as fingerprints
  from taken t
)
select r.archived_id, r.kept_because
from given g
cross join lateral signalbox._replay(
  %s::text, g.ids, g.payloads, g.attributes, g.priorities, g.group_ids, g.deduplication_ids, g.trace_ids,
  g.body_sha256s, g.fingerprints, %s::bigint, %s::text
) r
where g.ids is not null
"""


def settle_redriven(redrive_id: int, after: int, most: int) -> Settled:
    """Note what became of some of what a redrive sent; the caller holds the redrive's row."""
    return Settled(
        *_row("select * from signalbox.settle_redriven(%s::bigint, %s::bigint, %s::int)", [redrive_id, after, most])
    )


def newest_redriven() -> int:
    """The redriven_id that nothing redriven until now exceeds."""
    return _number("select coalesce(pg_sequence_last_value('signalbox.redriven_id'::regclass), 0)", [])


def delete_dead_letters(ids: Sequence[int], removal_id: int | None = None) -> int:
    """Delete these dead letters, for good without a removal; returns how many of them were still there."""
    return _number(_DELETE, [list(ids), removal_id])


# As delete_dead_letters does, without its row in the audit: the job has one.
_DELETE = "select signalbox._delete_dead_letters(%s::bigint[], 'p', 18::smallint, 26::smallint, %s::bigint)"


def purge(
    queue: str,
    states: Sequence[str],
    through_message_id: int,
    through_dead_letter_id: int,
    most: int,
    removal_id: int | None = None,
) -> int:
    """Purge at most so many messages, for good without a removal; returns how many. Zero: nothing is left."""
    return _number(
        "select signalbox._purge(%s::text, %s::bigint, %s::text[], %s::int, %s::bigint, %s::bigint)",
        [queue, through_message_id, list(states), most, through_dead_letter_id, removal_id],
    )


def open_removal(keep_seconds: float) -> int:
    """Begin a removal: what goes to it can be put back for so long."""
    return _number("select signalbox.open_removal(%s)", [keep_seconds])


def hold_removal(removal_id: int, seconds: float) -> bool:
    """Keep what a removal has for at least so long from now. False when it has nothing left."""
    return bool(_number("select signalbox.hold_removal(%s, %s)::int", [removal_id, seconds]))


def restore(
    removal_id: int, after_turn: int, after_message_id: int, most: int
) -> tuple[int, int, tuple[int, int] | None]:
    """Put back at most so many: (restored, skipped, cursor behind them or None when nothing was left)."""
    restored, skipped, turn, message_id = _row(
        "select restored, skipped, last_turn, last_message_id"
        " from signalbox.restore(%s::bigint, %s::bigint, %s::bigint, %s::int)",
        [removal_id, after_turn, after_message_id, most],
    )
    return restored, skipped, None if turn is None else (turn, message_id)


def _number(statement: Query, params: list[Any]) -> int:
    number: int = _row(statement, params)[0]
    return number


def _row(statement: Query, params: list[Any]) -> tuple[Any, ...]:
    """Run on psycopg's own connection: Django would hide which refusal it was."""
    connection.ensure_connection()
    with translated():
        row: tuple[Any, ...] = connection.connection.execute(statement, params).fetchone()
    return row


def erase_messages(
    erasure_id: int, message_ids: Sequence[int], queue_ids: Sequence[int | None], live: str, place: str
) -> list[tuple[int, str, str | None, str]]:
    """Erase what these carried: of each its id, where it stood, what it had become before, and what it is now."""
    connection.ensure_connection()
    with translated():
        rows: list[tuple[int, str, str | None, str]] = connection.connection.execute(
            "select * from signalbox.erase_messages(%s::bigint, %s::bigint[], %s::int[], %s::text, %s::text)",
            [erasure_id, list(message_ids), list(queue_ids), live, place],
        ).fetchall()
    return rows


def erase_body(erasure_id: int, sha256: bytes) -> bool | None:
    """Forget a large body that an erasure left; True: the caller removes the object and commits. None: it has gone."""
    gone: bool | None = _row("select signalbox.erase_body(%s::bigint, %s::bytea)", [erasure_id, sha256])[0]
    return gone


def erase_stream_messages(erasure_id: int, stream_id: int, partitions: Sequence[int], positions: Sequence[int]) -> int:
    """Erase what these messages of a stream carried; returns how many there were."""
    return _number(
        "select signalbox.erase_stream_messages(%s::bigint, %s::int, %s::smallint[], %s::bigint[])",
        [erasure_id, stream_id, list(partitions), list(positions)],
    )


def erase_causes(erasure_id: int, fingerprints: Sequence[str], needles: Sequence[str]) -> int:
    """Erase the samples that these causes keep; returns how many there were."""
    return _number(
        "select signalbox.erase_causes(%s::bigint, %s::text[], %s::text[])",
        [erasure_id, list(fingerprints), list(needles)],
    )
