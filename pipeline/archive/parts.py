"""Cut a window of transactions into parts, each small enough for a task, all known before any is read.

Pure arithmetic over counts. A cut lies between two transactions: one that wrote very much is one part, however large.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LOOSE = 0
"""The number in place of a transaction id, where there is none: for dead letters whose death is in no history."""

Counts = Sequence[tuple[int, int]]
"""(transaction id, rows) in order: the rows of this transaction and those after it, up to the next that is named."""


@dataclass(frozen=True)
class Part:
    """The unit of a task: the `rows` rows of a kind that transactions from `low` on and below `high` wrote."""

    kind: str
    number: int
    low: int
    high: int
    rows: int
    loose: int = 0
    """Of these, dead letters whose death is in no history: nothing holds them, and they may be gone when read."""


@dataclass(frozen=True)
class Window:
    """The transactions and parts of one run."""

    low: int
    high: int
    parts: Sequence[Part]


def cut(low: int, high: int, counts: Mapping[str, Counts], run_rows: int, part_rows: int) -> Window:
    """Cut as much of the window as makes about `run_rows` rows into parts of about `part_rows`."""
    end = _end(high, counts, run_rows)
    numbered: list[Part] = []
    for kind, counted in counts.items():
        below = [(txid, rows) for txid, rows in counted if txid < end]
        for first, last, rows in _spans(low, end, below, part_rows):
            loose = dict(below).get(LOOSE, 0) if first == LOOSE else 0
            numbered.append(Part(kind, len(numbered), first, last, rows, loose))
    return Window(low, end, numbered)


def _end(high: int, counts: Mapping[str, Counts], run_rows: int) -> int:
    """Find where the run stops: the first cut behind which it would be too large; never before one that has any."""
    of_all: Counter[int] = Counter()  # a cut within a transaction would leave rows of other kinds without a run
    for counted in counts.values():
        of_all.update(dict(counted))
    taken = 0
    for txid in sorted(of_all):
        if taken and taken + of_all[txid] > run_rows:
            return txid
        taken += of_all[txid]
    return high


def _spans(low: int, high: int, counts: Counts, part_rows: int) -> Iterator[tuple[int, int, int]]:
    """List (from, to, rows), one behind the other from `low` to `high`; none where there are no rows at all."""
    first, taken = low, 0
    for txid, rows in counts:
        if taken and taken + rows > part_rows:
            yield first, txid, taken
            first, taken = txid, 0
        taken += rows
    if taken:
        yield first, high, taken
