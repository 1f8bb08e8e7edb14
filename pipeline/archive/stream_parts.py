"""Cut what streams have for the archive into parts: ranges of positions are counted, then packed by their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipeline.archive.parts import Part
from pipeline.archive.schemas import STREAM_MESSAGES
from queues.control import archive_horizon
from queues.control.archive_horizon import Positions

Range = tuple[int, int, int, int]
"""Stream, partition, first and last position."""


def cut_ranges(unarchived: Iterable[Positions], most: int) -> Iterator[Range]:
    """Yield ranges of at most `most` positions, not counting those that retention has dropped."""
    for one in unarchived:
        low, high = one.low, one.first + most - 1
        while low <= one.high:
            yield one.stream_id, one.partition, low, min(high, one.high)
            low, high = high + 1, high + most


def next_parts(ranges: Iterator[Range], most_rows: int, part_rows: int, number: int) -> list[Part]:
    """Take ranges with about `most_rows` messages and pack them into parts; `number` is that of the first part.

    Ranges without messages, which were rolled back or dropped, are marked as archived when nothing else was taken.
    """
    while taken := _take(ranges, most_rows, part_rows):
        counts = archive_horizon.stream_counts(taken)
        if any(counts):
            return pack(taken, counts, part_rows, number)
        for empty in taken:
            archive_horizon.move_position(*empty)
    return []


def _take(ranges: Iterator[Range], most: int, part_rows: int) -> list[Range]:
    """Take ranges of about `most` positions in all; positions that were dropped count as at most one part."""
    taken: list[Range] = []
    room = most
    while room > 0 and (one := next(ranges, None)) is not None:
        taken.append(one)
        room -= min(one[3] - one[2] + 1, part_rows)
    return taken


def pack(ranges: Sequence[Range], counts: Sequence[int], part_rows: int, number: int) -> list[Part]:
    """Put ranges, in their order, into parts of at most `part_rows` messages."""
    packed: list[tuple[list[Range], int]] = []
    for one, rows in zip(ranges, counts, strict=True):
        if not packed or packed[-1][1] + rows > part_rows:
            packed.append(([], 0))
        packed[-1] = ([*packed[-1][0], one], packed[-1][1] + rows)
    return [
        Part(STREAM_MESSAGES.name, number + place, 0, 0, rows, ranges=held) for place, (held, rows) in enumerate(packed)
    ]
