"""Shares of the placed queues with their measured loads, and the moves that would level the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from queues.fleet.balance import CellCapacity, Limits, Move, Share, ShareLoad, peak_over_mean, propose
from queues.fleet.directory import Placement
from queues.fleet.readings import Reading


@dataclass(frozen=True)
class Balance:
    """Judgement of the cells: how level they are, and moves that would level them."""

    peak: float
    """Load of the fullest cell over the mean; 1 is level."""
    moves: Sequence[Move]


def balance(readings: Sequence[Reading], placed: Sequence[Placement], limits: Limits) -> Balance:
    """Judge the placed queues of the cells that answer. Partitions under way stay out of proposals."""
    answering = {reading.cell.name: reading for reading in readings if not reading.is_silent}
    members = [CellCapacity(reading.cell.name, reading.cell.region) for reading in answering.values()]
    shares = (_share(one, answering.get(one.cell)) for one in placed if one.state == "settled")
    held = [share for share in shares if share is not None]
    return Balance(peak_over_mean(members, held), joined(propose(members, held, limits)))


def joined(moves: Sequence[Move]) -> list[Move]:
    """Join neighbouring moves of one queue between the same cells: people and jobs make them as one."""
    joint: list[Move] = []
    for move in moves:
        last = joint[-1] if joint else None
        if last and (last.queue, last.source, last.target) == (move.queue, move.source, move.target):
            partitions = tuple(sorted(last.partitions + move.partitions))
            before, load = last.peak_before, last.load + move.load
            joint[-1] = replace(move, partitions=partitions, load=load, peak_before=before)
        else:
            joint.append(move)
    return joint


def _share(placement: Placement, reading: Reading | None) -> Share | None:
    measured = reading.by_queue.get(placement.queue) if reading else None
    if measured is None:
        return None
    load = ShareLoad(measured.sends_per_second, measured.receives_per_second, measured.waiting, measured.in_flight)
    return Share(placement.queue, placement.cell, placement.partitions, load)
