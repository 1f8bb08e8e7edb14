"""The arithmetic of docs/run/capacity.md, with round numbers whose results a reader computes by hand."""

from bench.fleet.capacity import Needs, Way, burst_backlog, cells_for, measured, stored_bytes

ROUND = Way("round", send_cpu_us=300, drain_cpu_us=700, wal_bytes=1500, send_call_ms=2, drain_call_ms=3, calls=1)


def test_the_costs_are_those_of_the_benchmarks_page() -> None:
    alone, batched = measured()
    assert (alone.send_cpu_us, alone.drain_cpu_us, alone.wal_bytes) == (275.0, 845.0, 778 + 968)
    assert (batched.send_cpu_us, batched.drain_cpu_us, batched.wal_bytes) == (25.7, 44.3, 609 + 450)
    assert stored_bytes() == 459


def test_cores_are_rate_times_cost() -> None:
    assert ROUND.cores(1000, 1000) == 1.0
    assert ROUND.cores(1000, 0) == 0.3


def test_cells_are_rounded_up_from_the_cores_that_may_be_busy() -> None:
    assert cells_for(Needs(burst=9_600), ROUND, 16) == 1
    assert cells_for(Needs(burst=9_700), ROUND, 16) == 2


def test_a_larger_payload_is_logged_once() -> None:
    assert ROUND.wal(200) == ROUND.wal(50) == 1500
    assert ROUND.wal(1_200) == 2500


def test_connections_are_calls_a_second_times_their_time() -> None:
    assert ROUND.connections(1000) == 5.0


def test_a_burst_that_waits_leaves_a_backlog() -> None:
    needs = Needs(messages_a_day=86_400, burst=101, burst_minutes=1)
    assert burst_backlog(needs) == 6000
