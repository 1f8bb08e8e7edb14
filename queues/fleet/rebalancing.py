"""Measure the load of each placed queue in each cell, and propose moves that level it (`queues.fleet.balance`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import psycopg

from queues.database.query import query_text
from queues.errors import SignalboxError
from queues.fleet import balance
from queues.fleet.cells import connected
from queues.fleet.directory import Cell, cells, placements
from queues.fleet.moves import Move, moves, start
from signalbox.connections.unavailable import Unavailable


def proposals(limits: balance.Limits = balance.DEFAULT_LIMITS) -> list[balance.Move]:
    """Propose moves by the load of the last ten seconds, of cells that answer and of queues that are not moving."""
    moving = {move.queue for move in moves(active=True)}
    parts = _parts()
    known: list[balance.CellCapacity] = []
    shares: list[balance.Share] = []
    for cell in cells():
        if (loads := _loads(cell)) is not None:
            known.append(balance.CellCapacity(cell.name, cell.region))
            shares += [
                balance.Share(queue, cell.name, parts[cell.name, queue], load)
                for queue, load in loads.items()
                if parts[cell.name, queue] and queue not in moving
            ]
    return balance.propose(known, shares, limits)


def rebalance(proposed: Sequence[balance.Move], *, actor: str, reason: str = "") -> list[Move]:
    """Enter the proposed moves; `fleet run` carries them out."""
    started: list[Move] = []
    for move in proposed:
        started += start(move.queue, move.partitions, move.target, actor=actor, reason=reason)
    return started


def _parts() -> dict[tuple[str, str], tuple[int, ...]]:
    """The partitions of each queue in each cell."""
    parts: dict[tuple[str, str], tuple[int, ...]] = defaultdict(tuple)
    for placement in placements():
        parts[placement.cell, placement.queue] += placement.partitions
    return parts


def _loads(cell: Cell) -> dict[str, balance.ShareLoad] | None:
    """The load of each placed queue in a cell; None for a silent one."""
    try:
        with connected(cell) as connection:
            rows = connection.execute(query_text("fleet/shares").encode()).fetchall()
    except (psycopg.Error, Unavailable, SignalboxError):
        return None
    return {queue: balance.ShareLoad(sends, receives, 0, leased) for queue, sends, receives, leased in rows}
