"""How long waits and work took, estimated from counts by bucket: a bucket does not say where in it a value lay."""

from __future__ import annotations

from collections.abc import Sequence

from queues.durations import BOUNDS


def percentile(counts: Sequence[int], share: float) -> float | None:
    """The seconds that `share` (0 to 1) of what was counted took at most; None when nothing was counted.

    Values are taken to lie evenly in their bucket, which begins at the bound before it or at 0, so the error is at most
    the width of one bucket. What took longer than the last bound counts as having taken just that.
    """
    total = sum(counts)
    if not total:
        return None
    rank, below = share * total, 0
    for place, count in enumerate(counts):
        if count and below + count >= rank:
            if place >= len(BOUNDS):
                break
            lower = BOUNDS[place - 1] if place else 0.0
            return min(lower + (BOUNDS[place] - lower) * (rank - below) / count, BOUNDS[place])
        below += count
    return float(BOUNDS[-1])
