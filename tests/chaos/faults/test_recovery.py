from tests.chaos.faults.recovery import quantile, recoveries
from tests.chaos.judging.history import FAILED, OK, Operation
from tests.chaos.phases import CALM_SECONDS, Phase, phases_of


def probe(began: float, completed: float) -> Operation:
    return Operation("prober", "probe", began, {"began": began}, OK, completed)


def fault(kind: str, ended: float, outcome: str = OK) -> Operation:
    return Operation("nemesis", "fault", ended - 1.0, {"fault": kind}, outcome, ended)


def acks(second: int, count: int) -> Operation:
    return Operation("someone", "ack", second, {}, OK, second + 0.5, {"answers": [True] * count + [False]})


def test_recovery_ends_with_the_first_probe_that_began_after_the_fault() -> None:
    operations = [fault("kill", 10.0), probe(9.5, 10.2), probe(10.3, 10.5), probe(10.6, 10.7)]

    found = recoveries(operations)

    assert found["kill"].faults == found[""].faults == 1
    assert round(found["kill"].p50_seconds, 3) == 0.5


def test_a_fault_that_did_not_take_place_has_no_recovery() -> None:
    assert recoveries([fault("kill", 10.0, FAILED), probe(10.3, 10.5)]) == {}


def test_a_fault_after_the_last_probe_is_left_out() -> None:
    assert recoveries([fault("kill", 10.0), probe(9.0, 9.5)]) == {}


def test_quantiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(100)]

    assert (quantile(values, 0.5), quantile(values, 0.99), quantile([3.0], 0.99)) == (50.0, 99.0, 3.0)


def test_who_is_as_fast_as_before_has_recovered_fully() -> None:
    assert Phase("", before=100, during=0, after=90, recovery_seconds=1.0).recovered_fully
    assert not Phase("", before=100, during=0, after=50, recovery_seconds=1.0).recovered_fully
    assert not Phase("", before=100, during=0, after=100, recovery_seconds=None).recovered_fully


def test_the_pace_of_a_phase_is_read_from_its_history() -> None:
    begin, end = 1000, 1010
    phase = Operation("nemesis", "phase", begin, {"name": "a phase"}, OK, end)
    before = [acks(second, 100) for second in range(begin - 20, begin)]
    after = [acks(second, 60) for second in range(end, end + int(CALM_SECONDS))]

    (found,) = phases_of([phase, *before, *after, probe(end + 0.2, end + 0.7)])

    assert (found.before, found.during, found.after) == (100, 0, 60)
    assert found.recovery_seconds is not None
    assert round(found.recovery_seconds, 3) == 0.7
    assert not found.recovered_fully
