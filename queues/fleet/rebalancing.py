"""Judge how level the cells are by their measured load, propose moves that level them, and enter these moves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from queues.fleet.balance import DEFAULT_LIMITS, CellCapacity, Limits, Share, ShareLoad, peak_over_mean, propose
from queues.fleet.balance import Move as Proposal
from queues.fleet.directory import Placement, placements
from queues.fleet.moves import Move, moves, start
from queues.fleet.readings import Reading, read_fleet


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
    """Judge the placed queues of the cells that answer. Queues that move already stay out of proposals."""
    answering = {reading.cell.name: reading for reading in readings if not reading.is_silent}
    members = [CellCapacity(reading.cell.name, reading.cell.region) for reading in answering.values()]
    moving = {move.queue for move in under_way if not move.has_ended}
    shares = (_share(one, answering.get(one.cell), moving) for one in placed)
    held = [share for share in shares if share is not None]
    return Balance(peak_over_mean(members, held), joined(propose(members, held, limits)))


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


def _share(placement: Placement, reading: Reading | None, moving: Collection[str]) -> Share | None:
    """Return the load of settled partitions; None where it is unknown or about to move."""
    if placement.state != "settled" or placement.queue in moving:
        return None
    measured = reading.by_queue.get(placement.queue) if reading else None
    if measured is None:
        return None
    load = ShareLoad(measured.sends_per_second, measured.receives_per_second, measured.waiting, measured.in_flight)
    return Share(placement.queue, placement.cell, placement.partitions, load)
