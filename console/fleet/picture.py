"""Pictures of the partitions of a queue: a bar of 64 pieces, coloured by cell, beside a list with the same facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from queues.fleet import Placement

TONES = ("ready", "leased", "scheduled", "completed", "redelivered", "sent", "failed", "delivered")
"""Colours of cells, in the order of their names. Cells may share a colour; the list beside the picture has names."""

STATES = {
    "settled": "",
    "closing": "leaving {}: sends are refused",
    "draining": "draining {}",
}


@dataclass(frozen=True)
class Run:
    """Neighbouring partitions of one cell and state."""

    start: int
    width: int
    tone: str
    words: str
    moves: bool


@dataclass(frozen=True)
class Part:
    """The partitions of a queue in one cell, for the list beside the picture."""

    cell: str
    tone: str
    count: int
    ranges: str
    note: str


def tones(names: Sequence[str]) -> Mapping[str, str]:
    """Give each cell a colour."""
    return {name: TONES[number % len(TONES)] for number, name in enumerate(names)}


def parts(placed: Sequence[Placement], colours: Mapping[str, str]) -> list[Part]:
    """List the parts of one queue by cell."""
    return [
        Part(one.cell, colours.get(one.cell, ""), len(one.partitions), one.ranges, _note(one))
        for one in sorted(placed, key=lambda one: (one.cell, one.partitions))
    ]


def runs(placed: Sequence[Placement], colours: Mapping[str, str]) -> list[Run]:
    """Return the pieces of the bar: the partitions in order, with neighbours of one placement as one piece."""
    holders = {number: one for one in placed for number in one.partitions}
    return list(_runs(holders, colours))


def _runs(holders: Mapping[int, Placement], colours: Mapping[str, str]) -> Iterator[Run]:
    numbers = sorted(holders)
    start = 0
    for end in range(1, len(numbers) + 1):
        first = holders[numbers[start]]
        if end < len(numbers) and holders[numbers[end]] is first and numbers[end] == numbers[end - 1] + 1:
            continue
        words = f"{first.cell}: {numbers[start]} to {numbers[end - 1]}"
        yield Run(numbers[start], end - start, colours.get(first.cell, ""), words, first.state != "settled")
        start = end


def _note(one: Placement) -> str:
    return STATES.get(one.state, one.state).format(one.from_cell)
