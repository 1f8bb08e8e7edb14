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
    return _number("select signalbox.delete_dead_letters(%s::bigint[], %s::bigint)", [list(ids), removal_id])


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
        "select signalbox.purge(%s::text, %s::bigint, %s::text[], %s::int, %s::bigint, %s::bigint)",
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
