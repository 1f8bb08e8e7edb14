"""Proposals of moves that level the load of the cells of a region.

A share is what one cell holds of one queue: some of its partitions and their load, which is measured together. The
partitions of a share count as equal; where they are not, the next measurement shows it and the next proposals follow.

The functions are pure. `fleet rebalance`, the page *Fleet* and the simulation of the benchmark call the same code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import floor

# Processor time of one message, sent and received alone (docs/reference/benchmark.md).
SEND_CPU_SECONDS = 315e-6
RECEIVE_CPU_SECONDS = 717e-6

# The largest piece to move, as a part of a mean cell. A cell with mostly one queue has all the peaks of that queue.
LARGEST_PIECE = 0.25


@dataclass(frozen=True, slots=True)
class ShareLoad:
    """Measured load of a share."""

    sends_per_second: float = 0.0
    receives_per_second: float = 0.0
    waiting: int = 0  # messages that the old cell hands out first
    in_flight: int = 0

    @property
    def work(self) -> float:
        """Processor seconds that the share takes each second."""
        return self.sends_per_second * SEND_CPU_SECONDS + self.receives_per_second * RECEIVE_CPU_SECONDS

    def __add__(self, other: ShareLoad) -> ShareLoad:
        return ShareLoad(
            self.sends_per_second + other.sends_per_second,
            self.receives_per_second + other.receives_per_second,
            self.waiting + other.waiting,
            self.in_flight + other.in_flight,
        )

    def part(self, ratio: float) -> ShareLoad:
        """Load of a part of the share's partitions."""
        return ShareLoad(
            self.sends_per_second * ratio,
            self.receives_per_second * ratio,
            round(self.waiting * ratio),
            round(self.in_flight * ratio),
        )


@dataclass(frozen=True, slots=True)
class CellCapacity:
    """Cell that takes part in balancing: it answers, and its load is known."""

    name: str
    region: str = ""
    capacity: float = 1.0  # processors, or any other unit that all cells share


@dataclass(frozen=True, slots=True)
class Share:
    """Partitions of one queue in one cell, with their load."""

    queue: str
    cell: str
    partitions: tuple[int, ...]
    load: ShareLoad
    is_fixed: bool = False  # moves already: it counts, and is not proposed

    @property
    def smallest(self) -> float:
        """Work of one partition."""
        return self.load.work / len(self.partitions)


@dataclass(frozen=True, slots=True)
class Move:
    """Proposed move, what moves with it, and the peak over the mean before and after."""

    queue: str
    partitions: tuple[int, ...]
    source: str
    target: str
    load: ShareLoad
    peak_before: float
    peak_after: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of proposals: where they begin and end, and how many there may be."""

    begin: float = 1.10  # peak over mean above which a region is out of balance
    goal: float = 1.04  # peak over mean at which proposals end
    moves: int = 10

    def __post_init__(self) -> None:
        if not 1 < self.goal <= self.begin:
            raise ValueError(f"goal is {self.goal}, begin is {self.begin}; allowed: 1 < goal <= begin")


DEFAULT_LIMITS = Limits()


def propose(cells: Sequence[CellCapacity], shares: Iterable[Share], limits: Limits = DEFAULT_LIMITS) -> list[Move]:
    """List moves in the order in which to make them, largest excess first; each region is levelled by itself."""
    regions = [_Region(members, limits) for members in _by_region(cells).values()]
    homes = {cell.name: region for region in regions for cell in region.cells}
    for share in shares:
        if home := homes.get(share.cell):
            home.take(share)
    moves = [move for region in regions if region.peak() > limits.begin for move in region.moves()]
    return sorted(moves, key=lambda move: -move.peak_before)[: limits.moves]


def peak_over_mean(cells: Sequence[CellCapacity], shares: Iterable[Share]) -> float:
    """Load of the fullest cell over the mean of its region; 1 is level."""
    region = _Region(list(cells), DEFAULT_LIMITS)
    for share in shares:
        region.take(share)
    return region.peak()


def _by_region(cells: Sequence[CellCapacity]) -> dict[str, list[CellCapacity]]:
    members = defaultdict(list)
    for cell in cells:
        members[cell.region].append(cell)
    return members


@dataclass
class _Region:
    """Cells of one region with their shares, to which moves are applied as they are proposed."""

    cells: list[CellCapacity]
    limits: Limits
    shares: dict[str, dict[str, Share]] = field(default_factory=lambda: defaultdict(dict))
    work: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def take(self, share: Share) -> None:
        held = self.shares[share.cell].get(share.queue)
        self.shares[share.cell][share.queue] = _together(held, share) if held else share
        self.work[share.cell] += share.load.work

    def peak(self) -> float:
        return max(map(self.level, self.cells), default=1.0)

    def level(self, cell: CellCapacity, more: float = 0.0) -> float:
        """Load of a cell over the mean of the region."""
        mean = self.mean()
        return (self.work[cell.name] + more) / cell.capacity / mean if mean else 1.0

    def mean(self) -> float:
        return sum(self.work[cell.name] for cell in self.cells) / sum(cell.capacity for cell in self.cells)

    def moves(self) -> list[Move]:
        """Apply moves from the fullest cell to the emptiest, until the goal or the limit is reached."""
        moves: list[Move] = []
        stuck: set[str] = set()  # their load is one partition, which no move divides
        while len(moves) < self.limits.moves and (source := self.fullest(stuck)):
            target = min(self.cells, key=self.level)
            if piece := self.piece(source, target):
                moves.append(self.moved(piece, source, target))
            else:
                stuck.add(source.name)
        return moves

    def fullest(self, stuck: set[str]) -> CellCapacity | None:
        """Fullest cell above the goal that some move relieves."""
        above = [cell for cell in self.cells if cell.name not in stuck and self.level(cell) > self.limits.goal]
        return max(above, key=self.level, default=None)

    def piece(self, source: CellCapacity, target: CellCapacity) -> Share | None:
        """Share, or a part of one, that brings source and target nearest to the mean.

        A whole share is preferred where it moves half of what should move: a queue in few cells costs consumers less.
        """
        ideal = self.ideal(source, target)
        loaded = [share for share in self.shares[source.name].values() if share.load.work and not share.is_fixed]
        whole = max((share for share in loaded if share.load.work <= ideal), key=_work, default=None)
        if whole and whole.load.work >= ideal / 2:
            return whole
        largest = max(loaded, key=_work, default=None)
        if largest and largest.smallest <= ideal < largest.load.work:
            most = max(largest.smallest, min(ideal, LARGEST_PIECE * self.mean() * target.capacity))
            return _last(largest, floor(most / largest.smallest))
        return whole or self.smallest_piece(loaded, source, target)

    def smallest_piece(self, shares: Iterable[Share], source: CellCapacity, target: CellCapacity) -> Share | None:
        """Smallest piece, if the target stays below the source; the target may rise above the mean."""
        smallest = min(shares, key=lambda share: share.smallest, default=None)
        if smallest and self.level(target, smallest.smallest) < self.level(source):
            return _last(smallest, 1)
        return None

    def ideal(self, source: CellCapacity, target: CellCapacity) -> float:
        """Work whose move takes neither the source below the mean nor the target above it."""
        mean = self.mean()
        excess = self.work[source.name] - mean * source.capacity
        room = mean * target.capacity - self.work[target.name]
        return min(excess, room)

    def moved(self, piece: Share, source: CellCapacity, target: CellCapacity) -> Move:
        """Apply a move and describe it."""
        before = self.peak()
        self.give(piece)
        self.take(replace(piece, cell=target.name))
        return Move(piece.queue, piece.partitions, source.name, target.name, piece.load, before, self.peak())

    def give(self, piece: Share) -> None:
        """Take a piece from its cell; the rest of its share stays."""
        held = self.shares[piece.cell].pop(piece.queue)
        if rest := len(held.partitions) - len(piece.partitions):
            self.shares[piece.cell][piece.queue] = _part(held, held.partitions[:rest])
        self.work[piece.cell] -= piece.load.work


def _work(share: Share) -> float:
    return share.load.work


def _part(share: Share, partitions: tuple[int, ...]) -> Share:
    """Some partitions of a share, with their part of its load."""
    return replace(share, partitions=partitions, load=share.load.part(len(partitions) / len(share.partitions)))


def _last(share: Share, count: int) -> Share:
    return _part(share, share.partitions[-count:])


def _together(held: Share, more: Share) -> Share:
    """Two shares of one queue in one cell."""
    return replace(held, partitions=held.partitions + more.partitions, load=held.load + more.load)
