"""Proposals of moves: what they may never do, on any fleet."""

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bench.fleet.balance import Scene, Simulation
from queues.fleet.balance import CellCapacity, Limits, Move, Share, ShareLoad, peak_over_mean, propose
from queues.fleet.rebalancing import joined
from tests.tiers import examples

PARTITIONS = tuple(range(64))
CELLS = [CellCapacity(f"cell-{number}") for number in range(4)]


def share(queue: str, cell: int, sends: float, partitions: tuple[int, ...] = PARTITIONS) -> Share:
    return Share(queue, f"cell-{cell}", partitions, ShareLoad(sends_per_second=sends, waiting=640, in_flight=64))


def applied(shares: list[Share], moves: list[Move]) -> list[Share]:
    """Shares after the moves, where each partition of a share has its part of the load."""
    loads: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for one in shares:
        for number in one.partitions:
            loads[one.queue, one.cell][number] = one.load.sends_per_second / len(one.partitions)
    for move in moves:
        for number in move.partitions:
            loads[move.queue, move.target][number] = loads[move.queue, move.source].pop(number)
    return [
        Share(queue, cell, tuple(sorted(parts)), ShareLoad(sends_per_second=sum(parts.values())))
        for (queue, cell), parts in loads.items()
        if parts
    ]


FLEETS = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1000), st.integers(1, 64)), min_size=1, max_size=12).map(
    lambda rows: [share(f"q{n}", cell, sends, PARTITIONS[:parts]) for n, (cell, sends, parts) in enumerate(rows)]
)
CAPACITIES = st.lists(st.sampled_from([0.5, 1.0, 2.0, 4.0]), min_size=4, max_size=4)


@hypothesis_settings(max_examples=examples(200), deadline=None)
@given(shares=FLEETS, capacities=CAPACITIES, most=st.integers(0, 30))
def test_moves_lower_the_peak_stay_within_their_number_and_lose_no_partition(
    shares: list[Share], capacities: list[float], most: int
) -> None:
    cells = [replace(cell, capacity=capacity) for cell, capacity in zip(CELLS, capacities, strict=True)]
    moves = propose(cells, shares, Limits(moves=most))
    after = applied(shares, moves)

    assert len(moves) <= most
    assert peak_over_mean(cells, after) <= peak_over_mean(cells, shares) + 1e-6
    peaks = [peak for move in moves for peak in (move.peak_before, move.peak_after)]
    assert peaks == pytest.approx(sorted(peaks, reverse=True))
    assert sorted((s.queue, n) for s in after for n in s.partitions) == sorted(
        (s.queue, n) for s in shares for n in s.partitions
    )
    if moves:
        assert peak_over_mean(cells, after) == pytest.approx(moves[-1].peak_after)


@hypothesis_settings(max_examples=examples(100), deadline=None)
@given(shares=FLEETS)
def test_proposals_end_and_do_not_come_back(shares: list[Share]) -> None:
    many = Limits(moves=1000)
    first = propose(CELLS, shares, many)
    assert len(first) < 1000
    levelled = applied(shares, first)
    again = propose(CELLS, levelled, many)
    assert peak_over_mean(CELLS, levelled) <= many.begin or len(again) <= len(first)
    assert not (peak_over_mean(CELLS, levelled) <= many.begin and again)


def test_a_level_fleet_gets_no_proposal() -> None:
    shares = [share(f"q{number}", number % 4, 100 + number % 3) for number in range(40)]
    assert propose(CELLS, shares) == []
    assert propose(CELLS, []) == []


def test_a_hot_queue_is_split_over_the_cells_by_its_partitions() -> None:
    moves = propose(CELLS, [share("hot", 0, 6400)], Limits(moves=12))
    after = applied([share("hot", 0, 6400)], moves)
    assert {one.cell: len(one.partitions) for one in after} == {cell.name: 16 for cell in CELLS}
    assert moves[0].load == ShareLoad(sends_per_second=400, waiting=40, in_flight=4)


def test_moves_between_the_same_cells_are_joined() -> None:
    moves = propose(CELLS[:2], [share("hot", 0, 6400)])
    [one] = joined(moves)
    assert len(moves) > 1
    assert sorted(one.partitions) == sorted(number for move in moves for number in move.partitions)
    assert one.load == ShareLoad(sends_per_second=3200, waiting=320, in_flight=32)
    assert (one.peak_before, one.peak_after) == (moves[0].peak_before, moves[-1].peak_after)


def test_whole_queues_move_before_one_is_split() -> None:
    shares = [share("a", 0, 100), share("b", 0, 100), share("c", 0, 100), share("d", 0, 100)]
    assert {len(move.partitions) for move in propose(CELLS, shares)} == {64}


def test_one_partition_with_all_load_moves_nowhere() -> None:
    assert propose(CELLS, [share("one group", 0, 1000, (7,))]) == []


def test_a_region_is_levelled_by_itself() -> None:
    cells = [replace(cell, region="north" if n < 2 else "south") for n, cell in enumerate(CELLS)]
    shares = [share("a", 0, 100), share("b", 1, 100), share("c", 2, 10), share("d", 3, 10)]
    assert propose(cells, shares) == []
    assert {(move.source, move.target) for move in propose(cells, [*shares, share("e", 0, 100)])} == {
        ("cell-0", "cell-1")
    }


def test_a_cell_that_is_not_named_neither_gives_nor_takes() -> None:
    """A silent cell is left out: its load is not known."""
    moves = propose(CELLS[:2], [share("a", 0, 100), share("b", 0, 100), share("c", 3, 900)])
    assert {move.target for move in moves} == {"cell-1"}


def test_a_queue_that_moves_already_counts_and_is_left_where_it_is() -> None:
    """The cell would look empty otherwise, and would be given more."""
    moving = replace(share("hot", 0, 900), is_fixed=True)
    shares = [moving, share("a", 0, 50), share("b", 1, 50)]
    assert peak_over_mean(CELLS[:2], shares) == pytest.approx(1.9)
    assert {(move.queue, move.source) for move in propose(CELLS[:2], shares)} == {("a", "cell-0")}


@pytest.mark.parametrize(("begin", "goal"), [(1.2, 1.0), (1.1, 1.2), (0.9, 0.5)])
def test_limits_that_never_end_are_refused(begin: float, goal: float) -> None:
    with pytest.raises(ValueError, match="allowed: 1 < goal <= begin"):
        Limits(begin=begin, goal=goal)


def test_a_simulated_fleet_becomes_level_with_bounded_moves_and_repeats_by_its_seed() -> None:
    scene = Scene(queues=500, cells=10, days=1, seed=3)
    hours = list(Simulation(scene).run())
    assert hours == list(Simulation(scene).run())
    assert hours[0].peak > 1.2
    assert max(hour.peak for hour in hours[12:]) <= 1.2
    assert max(hour.moves for hour in hours) <= scene.moves_per_hour


@pytest.mark.proof
def test_ten_thousand_queues_on_fifty_cells_stay_level() -> None:
    scene = Scene(days=3)
    simulation = Simulation(scene)
    hours = list(simulation.run())
    assert hours[0].peak > 3  # queues were dealt out in turn
    assert max(hour.peak for hour in hours[24:]) <= 1.2
    assert sum(hour.moves for hour in hours[24:48]) <= 24 * scene.moves_per_hour
    assert simulation.pieces() < 1.05 * scene.queues
