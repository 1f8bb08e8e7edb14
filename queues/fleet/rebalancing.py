"""Judge how level the cells are by their measured load, propose moves that level them, and enter these moves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from queues.fleet.balance import DEFAULT_LIMITS, CellCapacity, Limits, Share, ShareLoad, peak_over_mean, propose
from queues.fleet.balance import Move as Proposal
from queues.fleet.directory import Placement, placements
from queues.fleet.moves import Move, moves, start
from queues.fleet.readings import QueueInCell, Reading, read_fleet


@dataclass(frozen=True)
class Balance:
    """Judgement of the cells: how level they are, and moves that would level them."""

    peak: float
    """Load of the fullest cell over the mean; 1 is level."""
    moves: Sequence[Proposal]


def proposals(limits: Limits = DEFAULT_LIMITS) -> Sequence[Proposal]:
    """Propose moves by the load of the last ten seconds."""
    return balance(read_fleet(), placements(), moves(active=True), limits).moves


def balance(
    readings: Sequence[Reading], placed: Sequence[Placement], under_way: Sequence[Move], limits: Limits
) -> Balance:
    """Judge the placed queues of the cells that answer. A queue that moves counts, and is in no proposal."""
    answering = {reading.cell.name: reading for reading in readings if not reading.is_silent}
    members = [CellCapacity(reading.cell.name, reading.cell.region) for reading in answering.values()]
    moving = {move.queue for move in under_way if not move.has_ended}
    moving |= {placement.queue for placement in placed if placement.state != "settled"}
    shares = [
        Share(queue, cell, partitions, _load(held), is_fixed=queue in moving)
        for (cell, queue), partitions in _parts(placed).items()
        if cell in answering and (held := answering[cell].by_queue.get(queue))
    ]
    return Balance(peak_over_mean(members, shares), joined(propose(members, shares, limits)))


def joined(proposed: Sequence[Proposal]) -> list[Proposal]:
    """Join neighbouring moves of one queue between the same cells: people and jobs make them as one."""
    joint: list[Proposal] = []
    for move in proposed:
        last = joint[-1] if joint else None
        if last and (last.queue, last.source, last.target) == (move.queue, move.source, move.target):
            partitions = tuple(sorted(last.partitions + move.partitions))
            before, load = last.peak_before, last.load + move.load
            joint[-1] = replace(move, partitions=partitions, load=load, peak_before=before)
        else:
            joint.append(move)
    return joint


def rebalance(proposed: Sequence[Proposal], *, actor: str, reason: str = "") -> list[Move]:
    """Enter the proposed moves; `fleet run` carries them out."""
    started: list[Move] = []
    for move in proposed:
        started += start(move.queue, move.partitions, move.target, actor=actor, reason=reason)
    return started


def _parts(placed: Sequence[Placement]) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return the partitions of each cell and queue, whatever their state and epoch."""
    parts: dict[tuple[str, str], tuple[int, ...]] = defaultdict(tuple)
    for placement in placed:
        parts[placement.cell, placement.queue] += placement.partitions
    return parts


def _load(held: QueueInCell) -> ShareLoad:
    return ShareLoad(held.sends_per_second, held.receives_per_second, held.waiting, held.in_flight)
