from tests.chaos.faults.every_fault import FAULTS
from tests.chaos.faults.schedule import WEIGHTS, schedule


def test_the_same_seed_gives_the_same_schedule() -> None:
    assert schedule(7, 200, 1.0) == schedule(7, 200, 1.0)
    assert schedule(7, 200, 1.0) != schedule(8, 200, 1.0)


def test_every_kind_comes_at_least_once() -> None:
    assert {fault.kind for fault in schedule(1, len(WEIGHTS), 1.0)} == set(WEIGHTS)


def test_a_kind_of_no_weight_never_comes() -> None:
    faults = schedule(1, 500, 1.0, {"kill client": 1.0, "kill postmaster": 0.0})

    assert {fault.kind for fault in faults} == {"kill client"}


def test_the_nemesis_can_do_whatever_a_schedule_asks_for() -> None:
    assert set(FAULTS) >= set(WEIGHTS)
