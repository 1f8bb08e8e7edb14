"""Percentiles from buckets: between the bounds that are known, and honest about what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues.counters.durations import BOUNDS, percentile

BUCKETS = len(BOUNDS) + 1


def counts(**places: int) -> list[int]:
    """Counts by bucket: b1=3 puts three into the first."""
    return [places.get(f"b{place}", 0) for place in range(1, BUCKETS + 1)]


def test_of_nothing_there_is_none() -> None:
    assert percentile([], 0.5) is None
    assert percentile(counts(), 0.99) is None


def test_values_are_taken_to_lie_evenly_in_their_bucket() -> None:
    assert percentile(counts(b6=10), 0.5) == pytest.approx(3.0)  # from 1 s to 5 s
    assert percentile(counts(b1=4), 0.5) == pytest.approx(0.0025)  # the first begins at nothing
    assert percentile(counts(b5=50, b6=50), 0.95) == pytest.approx(1 + 4 * 0.9)


def test_what_took_longer_than_the_last_bound_counts_as_that() -> None:
    assert percentile(counts(b15=3), 0.5) == BOUNDS[-1]


@given(st.lists(st.integers(0, 1000), min_size=BUCKETS, max_size=BUCKETS).filter(any))
def test_they_never_fall_and_lie_in_a_bucket_that_has_something(given: list[int]) -> None:
    found = [percentile(given, share) for share in (0.0, 0.5, 0.95, 0.99, 1.0)]

    assert found == sorted(value for value in found if value is not None)
    for value in found:
        assert any(
            count and (BOUNDS[place - 1] if place else 0.0) <= (value or 0.0) <= bound
            for place, (count, bound) in enumerate(zip(given, (*BOUNDS, BOUNDS[-1]), strict=True))
        ) or (given[-1] and value == BOUNDS[-1])
