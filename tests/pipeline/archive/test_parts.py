"""Windows are cut into parts that cover them, without a gap and without an overlap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.archive.parts import Counts, cut

counted = st.lists(st.tuples(st.integers(100, 999), st.integers(1, 50)), max_size=40).map(
    lambda pairs: sorted(dict(pairs).items())
)


@given(counted, counted, st.integers(1, 300), st.integers(1, 100))
def test_parts_of_a_kind_follow_one_another_through_the_whole_window(
    settled: Counts, failures: Counts, run_rows: int, part_rows: int
) -> None:
    window = cut(100, 1000, {"settled": settled, "failures": failures}, run_rows, part_rows)

    assert [part.number for part in window.parts] == list(range(len(window.parts)))
    for kind, counts in (("settled", settled), ("failures", failures)):
        parts = [part for part in window.parts if part.kind == kind]
        edges = [edge for part in parts for edge in (part.low, part.high)]
        assert edges[1:-1:2] == edges[2::2]
        assert edges[:1] + edges[-1:] in ([], [100, window.high])
        for part in parts:
            assert part.rows == sum(rows for txid, rows in counts if part.low <= txid < part.high)
        assert sum(part.rows for part in parts) == sum(rows for txid, rows in counts if txid < window.high)


@given(counted, counted, st.integers(1, 300))
def test_a_run_after_another_takes_everything(settled: Counts, failures: Counts, run_rows: int) -> None:
    """A run without parts would mean an empty window, so even one large transaction makes parts."""
    low, taken = 100, 0
    while low < 1000:
        left = {
            kind: [pair for pair in counts if pair[0] >= low]
            for kind, counts in (("settled", settled), ("failures", failures))
        }
        window = cut(low, 1000, left, run_rows, 10)
        assert window.parts or not any(left.values())
        assert window.high > low
        low, taken = window.high, taken + sum(part.rows for part in window.parts)

    assert taken == sum(rows for _, rows in (*settled, *failures))


def test_a_transaction_larger_than_a_run_is_one_run_of_all_kinds() -> None:
    window = cut(0, 50, {"failures": [(10, 1)], "settled": [(10, 1000), (20, 5)]}, 100, 500)

    assert window.high == 20
    assert [(part.kind, part.rows) for part in window.parts] == [("failures", 1), ("settled", 1000)]


def test_a_transaction_larger_than_a_part_is_one_part() -> None:
    window = cut(0, 50, {"settled": [(10, 5), (20, 1000), (30, 5)]}, 10_000, 100)

    assert [(part.low, part.high, part.rows) for part in window.parts] == [(0, 20, 5), (20, 30, 1000), (30, 50, 5)]


def test_nothing_to_do_makes_no_part() -> None:
    assert cut(5, 9, {}, 100, 10).parts == []
