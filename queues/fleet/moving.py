"""The runner of moves: it takes each from step to step. A step that was done before does nothing when it is repeated.

* preparing: makes the queue in the new cell, and copies deduplication ids while the old cell still takes sends.
* closing: brings the directory to the old cell, which takes no more; waits until every transaction has ended that may
  still send; copies the other ids.
* draining: brings the directory to both cells, and the new one takes sends. Waits until the old cell is empty, and
  releases each FIFO group that has no message left there.

Only when a step is done does the directory enter the next state. No cell takes sends between the first commit of
closing and the first of draining: senders wait for that moment.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from queues.control.queues import get_queue
from queues.database.query import fetch, verb_value
from queues.errors import SignalboxError
from queues.fleet.cells import connected
from queues.fleet.copying import copy_over, copy_to_all
from queues.fleet.directory import Cell, get_cell, get_directory, placements
from queues.fleet.moves import COUNTED_MESSAGES, Move, get_move, moves
from queues.models import Queue
from queues.settings import SETTINGS
from signalbox.connections.unavailable import Unavailable

CLOSING_SECONDS = 5.0
"""The longest time for which no cell takes sends: then the old cell takes them again, and the move is paused."""
FENCE_POLL_SECONDS = 0.01
KEYS_TOGETHER = 5_000
GROUPS_TOGETHER = 500

TAKE_KEYS = (
    "select signalbox._fleet_take_keys(%s, %s::text[], %s::bigint[], %s::bytea[], %s::timestamptz[], %s::timestamptz[])"
)

KnownKeys = set[int]


def run_moves() -> list[Move]:
    """Take every move one step further; returns those that have not ended. Errors are kept with their move."""
    for move in reversed(moves(active=True)):
        if not move.paused:
            advance(move.move_id)
    return moves(active=True)


def advance(move_id: int) -> Move:
    """Take a move as far as possible without waiting for consumers. A move that another runner holds is skipped."""
    with _alone(move_id) as is_alone:
        move = get_move(move_id)
        while is_alone and not move.paused and not move.has_ended:
            before = move.state
            try:
                _STEPS[move.state](move)
            except (psycopg.Error, Unavailable, SignalboxError) as error:
                _note(move, str(error).strip().partition("\n")[0] or type(error).__name__)
                return get_move(move_id)
            move = get_move(move_id)
            if move.state == before:
                break
    return get_move(move_id)


def prepare(move: Move) -> None:
    """Make the queue in the new cell, copy the deduplication ids that are known so far, and close the old cell."""
    known: KnownKeys = set()
    with _cell(move.to_cell) as target:
        copy_to_cell(target, move.to_cell)  # first: a cell that knows no placement would take sends to a new queue
        _make_queue(target, move)
    with _cell(move.from_cell) as source, _cell(move.to_cell) as target:
        copy_keys(source, target, move, known)
        verb_value("select signalbox._fleet_advance(%s, 'preparing')", move.move_id)
        close(move, source, target, known)


def resume_closing(move: Move) -> None:
    """Go on with a move whose runner ended while no cell took sends."""
    with _cell(move.from_cell) as source, _cell(move.to_cell) as target:
        close(move, source, target, set())


def close(move: Move, source: psycopg.Connection[Any], target: psycopg.Connection[Any], known: KnownKeys) -> None:
    """Close the old cell, wait for sends that are open there, copy the other ids, and open the new cell."""
    copy_to_cell(source, move.from_cell)
    if not fenced(source):
        why = f"transactions that may send to {move.from_cell} did not end within {CLOSING_SECONDS:g} s: end them"
        verb_value("select signalbox._fleet_revert(%s, %s, false)", move.move_id, why)
        copy_to_cell(source, move.from_cell)
        return
    copy_keys(source, target, move, known)
    note_messages(source, move)
    verb_value("select signalbox._fleet_advance(%s, 'closing')", move.move_id)
    copy_to_cell(target, move.to_cell)
    copy_to_cell(source, move.from_cell)


def drain(move: Move) -> None:
    """Bring the directory to both cells, and end the move when the old one has none of the messages left."""
    with _cell(move.from_cell) as source, _cell(move.to_cell) as target:
        copy_to_cell(target, move.to_cell)
        copy_to_cell(source, move.from_cell)
        release_groups(source, target, move)
        if note_messages(source, move):
            return
        verb_value("select signalbox._fleet_advance(%s, 'draining')", move.move_id)
    copy_to_all()


_STEPS = {"preparing": prepare, "closing": resume_closing, "draining": drain}


def fenced(source: psycopg.Connection[Any]) -> bool:
    """Wait until every transaction has ended that was open when the cell closed, and may have found it open."""
    ends_at = time.monotonic() + CLOSING_SECONDS
    open_then = _open(source)
    while open_then & _open(source):
        if time.monotonic() > ends_at:
            return False
        time.sleep(FENCE_POLL_SECONDS)
    return True


def _open(source: psycopg.Connection[Any]) -> set[str]:
    row = source.execute("select signalbox.open_transactions()").fetchone()
    return set(row[0]) if row else set()


def copy_keys(source: psycopg.Connection[Any], target: psycopg.Connection[Any], move: Move, known: KnownKeys) -> None:
    """Copy the deduplication ids of the old cell to the new one, except those that this runner has copied before."""
    statement = "select * from signalbox._fleet_keys(%s, %s::smallint[])"
    rows = source.execute(statement, [move.queue, list(move.partitions)])
    copied = 0
    while page := rows.fetchmany(KEYS_TOGETHER):
        fresh = [row for row in page if hash((row[0], row[3])) not in known]
        known.update(hash((row[0], row[3])) for row in fresh)
        if fresh:
            columns = [list(column) for column in zip(*fresh, strict=True)]
            target.execute(TAKE_KEYS, [move.queue, *columns])
        copied += len(fresh)
    fetch("update signalbox.fleet_move set keys = keys + %s where move_id = %s returning keys", [copied, move.move_id])


def release_groups(source: psycopg.Connection[Any], target: psycopg.Connection[Any], move: Move) -> None:
    """Let the new cell hand out FIFO groups of which the old cell has none left."""
    after: str | None = None
    while placements(move.queue)[0].is_fifo:
        row = target.execute(
            "select signalbox._fleet_waiting_groups(%s, %s, %s)", [move.queue, after, GROUPS_TOGETHER]
        ).fetchone()
        waiting = row[0] if row else []
        if not waiting:
            return
        emptied = source.execute("select signalbox._fleet_emptied_groups(%s, %s)", [move.queue, waiting]).fetchone()
        if emptied and emptied[0]:
            target.execute("select signalbox._fleet_release_groups(%s, %s)", [move.queue, emptied[0]])
        after = waiting[-1]


def note_messages(source: psycopg.Connection[Any], move: Move) -> int:
    """Count the messages that the old cell still has, and keep the number with the move."""
    row = source.execute(
        "select signalbox._fleet_remaining(%s, %s::smallint[], %s)",
        [move.queue, list(move.partitions), COUNTED_MESSAGES],
    ).fetchone()
    left = int(row[0]) if row else 0
    fetch(
        "update signalbox.fleet_move set messages = coalesce(messages, %s), messages_left = %s, problem = '',"
        " looked_at = clock_timestamp() where move_id = %s returning move_id",
        [left, left, move.move_id],
    )
    return left


def copy_to_cell(connection: psycopg.Connection[Any], cell: str) -> None:
    """Bring the directory to a cell; the home has it already."""
    if cell != get_directory().cell:
        copy_over(connection)


def _make_queue(target: psycopg.Connection[Any], move: Move) -> None:
    """Make the queue in the new cell with the settings of the home; it is empty there, unless it has a part already."""
    template: Queue = get_queue(move.queue)
    settings = {name: value for name in SETTINGS if (value := getattr(template, name)) is not None}
    holders = {cell for placement in placements(move.queue) for cell in (placement.cell, placement.from_cell)}
    with target.transaction():
        target.execute(
            "select signalbox.create_queue(%s, %s, %s)", [template.name, json.dumps(settings), template.tenant.name]
        )
        if move.to_cell not in holders:
            target.execute("select signalbox._check_placeable(%s)", [template.name])


def _note(move: Move, problem: str) -> None:
    fetch(
        "update signalbox.fleet_move set problem = %s where move_id = %s returning move_id",
        [problem[:500], move.move_id],
    )


@contextmanager
def _cell(name: str) -> Iterator[psycopg.Connection[Any]]:
    cell: Cell = get_cell(name)
    with connected(cell) as connection:
        yield connection


@contextmanager
def _alone(move_id: int) -> Iterator[bool]:
    """Hold the move against other runners, by a lock of this session."""
    key = ["signalbox.fleet_move", move_id]
    [(is_alone,)] = fetch("select pg_try_advisory_lock(hashtext(%s), %s)", key)
    try:
        yield is_alone
    finally:
        if is_alone:
            fetch("select pg_advisory_unlock(hashtext(%s), %s)", key)
