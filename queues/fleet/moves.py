"""Plan, list, pause and cancel moves of partitions to another cell, in the directory's home.

A move is a row. `queues.fleet.moving` carries it out; when the process is killed, any process can continue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from queues import audit
from queues.database.query import fetch, query_text, verb_rows, verb_value
from queues.errors import InvalidArgument
from queues.fleet.cells import connected
from queues.fleet.directory import get_cell, get_directory, placements, written
from signalbox.fleet.map import PARTITIONS

COUNTED_MESSAGES = 100_000
"""The most messages that a plan counts; more are reported as this many."""


@dataclass(frozen=True)
class Move:
    """One move of partitions of a queue from a cell to another."""

    move_id: int
    queue: str
    partitions: tuple[int, ...]
    from_cell: str
    to_cell: str
    state: str
    """preparing, closing (no cell takes sends), draining (`from_cell` hands out what it has), done, cancelled."""
    paused: bool
    problem: str
    """Why it does not go on; empty while it does."""
    messages: int | None
    """The messages that `from_cell` had when it closed; None before."""
    messages_left: int | None
    keys: int
    """The deduplication ids that were copied."""
    started_by: str
    started_at: datetime
    drained_since: datetime | None
    looked_at: datetime | None
    ended_at: datetime | None

    @property
    def ranges(self) -> str:
        """Write the partitions as people do: 0-15,20."""
        return written(self.partitions)

    @property
    def has_ended(self) -> bool:
        """Return whether the move is done or cancelled."""
        return self.ended_at is not None

    @property
    def seconds_left(self) -> float | None:
        """Estimate the seconds until the old cell is empty, by its rate since it closed; None without one."""
        if not self.messages or self.messages_left is None or self.drained_since is None or self.looked_at is None:
            return None
        elapsed = (self.looked_at - self.drained_since).total_seconds()
        gone = self.messages - self.messages_left
        return self.messages_left * elapsed / gone if gone > 0 else None


@dataclass(frozen=True)
class Impact:
    """The messages that a move would touch in one cell, and the time that it takes to hand them out."""

    queue: str
    partitions: tuple[int, ...]
    from_cell: str
    to_cell: str
    messages: int
    keys: int
    receives_per_second: float
    in_flight: int
    scheduled: int
    due_seconds: float | None
    """The seconds until the last scheduled message is due; the old cell is not empty before. None without one."""

    @property
    def seconds(self) -> float | None:
        """Estimate the seconds until the old cell is empty; None where nothing is received there."""
        if not self.messages:
            return 0.0
        if not self.receives_per_second:
            return None
        return max(self.messages / self.receives_per_second, self.due_seconds or 0.0)


def parsed(text: str) -> list[int]:
    """Parse ranges of partitions, such as 0-15,20. Raises InvalidArgument."""
    numbers: set[int] = set()
    for part in text[:400].split(","):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal() and len(part) < 10):
            raise InvalidArgument(f"partitions is {text[:80]!r}: write ranges such as 0-15,20", field="partitions")
        numbers.update(range(int(first), min(int(last or first), PARTITIONS) + 1))
    if not numbers or max(numbers) >= PARTITIONS:
        raise InvalidArgument(f"partitions is {text[:80]!r}: they are numbered from 0 to 63", field="partitions")
    return sorted(numbers)


def impact(queue: str, partitions: Sequence[int], to_cell: str) -> list[Impact]:
    """Compute what a move would touch, for each cell that has some of the partitions. Changes nothing."""
    get_cell(to_cell)
    parts: dict[str, list[int]] = {}
    for placement in placements(queue):
        wanted = sorted(set(partitions) & set(placement.partitions))
        if wanted and placement.cell != to_cell:
            parts.setdefault(placement.cell, []).extend(wanted)
    return [_impact(queue, sorted(part), cell, to_cell) for cell, part in parts.items()]


def _impact(queue: str, part: list[int], from_cell: str, to_cell: str) -> Impact:
    with connected(get_cell(from_cell)) as source:
        parameters = {"queue": queue, "partitions": part, "limit": COUNTED_MESSAGES}
        row = source.execute(query_text("fleet/impact").encode(), parameters).fetchone()
    assert row is not None  # noqa: S101 - the query always returns one row
    return Impact(queue, tuple(part), from_cell, to_cell, *row)


def start(queue: str, partitions: Sequence[int], to_cell: str, *, actor: str, reason: str = "") -> list[Move]:
    """Enter moves of these partitions, one for each cell that has some; none where they are there already."""
    get_directory()
    with transaction.atomic():
        rows = verb_rows(
            "select signalbox._fleet_plan_move(%s, %s::integer[], %s, %s)", queue, list(partitions), to_cell, actor
        )
        ids = [row[0] for row in rows]
        details = {"queue": queue, "partitions": written(tuple(sorted(partitions))), "cell": to_cell, "moves": ids}
        audit.record(actor, "fleet.move", None, reason, details)
    return [get_move(move_id) for move_id in ids]


def moves(*, active: bool = False) -> list[Move]:
    """List the moves, newest first; with `active` only those that have not ended."""
    return _read({"move_id": None, "active": active})


def get_move(move_id: int) -> Move:
    """Read one move; raises InvalidArgument."""
    found = _read({"move_id": move_id, "active": False})
    if not found:
        raise InvalidArgument(f"move is {move_id}: there is no such move", field="move")
    return found[0]


def pause(move_id: int, paused: bool, *, actor: str, reason: str = "") -> Move:
    """Pause or resume a move. While it drains, both cells go on: only its end waits."""
    with transaction.atomic():
        get_move(move_id)
        fetch(
            "update signalbox.fleet_move set paused = %s, problem = '' where move_id = %s and ended_at is null"
            " returning move_id",
            [paused, move_id],
        )
        audit.record(actor, "fleet.pause" if paused else "fleet.resume", None, reason, {"move": move_id})
    return get_move(move_id)


def cancel(move_id: int, *, actor: str, reason: str = "") -> Move:
    """Cancel a move whose new cell takes no sends yet. Raises InvalidArgument for a later one: move it back."""
    with transaction.atomic():
        move = get_move(move_id)
        if not verb_value("select signalbox._fleet_revert(%s, '', true)", move_id):
            raise InvalidArgument(f"move {move_id} is {move.state}: move its partitions back instead", field="move")
        audit.record(actor, "fleet.cancel", None, reason, {"move": move_id})
    return get_move(move_id)


def _read(parameters: dict[str, Any]) -> list[Move]:
    return [Move(*(*row[:2], tuple(row[2]), *row[3:])) for row in fetch(query_text("fleet/moves"), parameters)]
