"""How long waits and work took, estimated from counts by bucket: a bucket does not say where in it a value lay."""

from __future__ import annotations

from collections.abc import Sequence

BOUNDS_SECONDS = (0.005, 0.025, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400)
"""Upper bounds of the buckets, each part of its bucket; one bucket more is for what took longer."""


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
            if place >= len(BOUNDS_SECONDS):
                break
            lower = BOUNDS_SECONDS[place - 1] if place else 0.0
            return lower + (BOUNDS_SECONDS[place] - lower) * (rank - below) / count
        below += count
    return float(BOUNDS_SECONDS[-1])
