"""The engine's verbs that jobs call, over Django's connection and in its transaction.

They raise the errors of `queues.errors` where the engine refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection
from psycopg.abc import Query

from queues.errors import translated


def redrive(ids: Sequence[int], target_queue: str | None, redrive_id: int, actor: str) -> int:
    """Send these dead letters again; returns how many of them were still there to go."""
    return _number(
        "select count(*) from signalbox.redrive(%s::bigint[], %s::text, %s::bigint, %s::text)",
        [list(ids), target_queue, redrive_id, actor],
    )


def delete_dead_letters(ids: Sequence[int]) -> int:
    """Delete these dead letters; returns how many of them were still there."""
    return _number("select signalbox.delete_dead_letters(%s::bigint[])", [list(ids)])


def purge(queue: str, states: Sequence[str], through_message_id: int, through_dead_letter_id: int, most: int) -> int:
    """Purge at most so many messages; returns how many there were. Zero: nothing is left."""
    return _number(
        "select signalbox.purge(%s::text, %s::bigint, %s::text[], %s::int, %s::bigint)",
        [queue, through_message_id, list(states), most, through_dead_letter_id],
    )


def _number(statement: Query, params: list[Any]) -> int:
    """Run on psycopg's own connection: Django would hide which refusal it was."""
    connection.ensure_connection()
    with translated():
        row = connection.connection.execute(statement, params).fetchone()
    number: int = row[0]
    return number
