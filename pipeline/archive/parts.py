"""Cut a window of transactions into parts that are small enough for a task, before any row is read.

Pure arithmetic over row counts. Cuts lie between transactions: the rows of one transaction are never divided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LOOSE = 0
"""The transaction id of dead letters whose last failure is no longer in the history."""

Counts = Sequence[tuple[int, int]]
"""Pairs (transaction id, rows) in order: the rows of the transactions from this id up to the next one in the list."""


@dataclass(frozen=True)
class Part:
    """The unit of a task: the rows of one kind that transactions from `low` up to, not including, `high` wrote.

    A part of streams has ranges of positions instead.
    """

    kind: str
    number: int
    low: int
    high: int
    rows: int
    loose: int = 0
    """How many of the rows have the transaction id `LOOSE`; they may be deleted before the task reads them."""
    ranges: Sequence[Sequence[int]] = ()
    """Ranges (stream, partition, first position, last position) of the messages of streams."""


@dataclass(frozen=True)
class Window:
    """The transactions and parts of one run."""

    low: int
    high: int
    parts: Sequence[Part]


def cut(low: int, high: int, counts: Mapping[str, Counts], run_rows: int, part_rows: int) -> Window:
    """Cut the window into parts of about `part_rows` rows, and end it after about `run_rows` rows."""
    end = _end(high, counts, run_rows)
    numbered: list[Part] = []
    for kind, counted in counts.items():
        below = [(txid, rows) for txid, rows in counted if txid < end]
        for first, last, rows in _spans(low, end, below, part_rows):
            loose = dict(below).get(LOOSE, 0) if first == LOOSE else 0
            numbered.append(Part(kind, len(numbered), first, last, rows, loose))
    return Window(low, end, numbered)


def _end(high: int, counts: Mapping[str, Counts], run_rows: int) -> int:
    """Find the last cut that keeps the run below `run_rows`; a run has at least one transaction with rows."""
    total: Counter[int] = Counter()  # over all kinds: a transaction belongs to one run
    for counted in counts.values():
        total.update(dict(counted))
    taken = 0
    for txid in sorted(total):
        if taken and taken + total[txid] > run_rows:
            return txid
        taken += total[txid]
    return high


def _spans(low: int, high: int, counts: Counts, part_rows: int) -> Iterator[tuple[int, int, int]]:
    """Yield spans (from, to, rows) that cover `low` to `high` without gaps; none when there are no rows."""
    first, taken = low, 0
    for txid, rows in counts:
        if taken and taken + rows > part_rows:
            yield first, txid, taken
            first, taken = txid, 0
        taken += rows
    if taken:
        yield first, high, taken
