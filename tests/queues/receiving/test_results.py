"""Results: the value that an ack leaves in history for the sender."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine

ACK = "select acked from signalbox.ack(%s, %s)"


def ack(engine: Engine, handles: list[str], results: list[Any]) -> list[bool]:
    given = [None if result is None else Jsonb(result) for result in results]
    return [row[0] for row in engine.rows(ACK, handles, given)]


def result_of(engine: Engine, message_id: int) -> Any:
    return engine.value("select result from signalbox.message_outcome(%s)", message_id)


def handles_of(engine: Engine, count: int) -> dict[int, str]:
    for number in range(count):
        engine.send(number)
    return {row[0]: row[1] for row in engine.receive(count)}


def test_a_result_is_kept_beside_the_ack(engine: Engine) -> None:
    (message_id,) = handles = handles_of(engine, 1)

    assert ack(engine, list(handles.values()), [{"total": 12.5}]) == [True]

    assert result_of(engine, message_id) == {"total": 12.5}
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_each_of_a_batch_keeps_its_own_whatever_the_order(engine: Engine) -> None:
    handles = handles_of(engine, 4)
    shuffled = [list(handles)[place] for place in (2, 0, 3, 1)]

    assert ack(engine, [handles[one] for one in shuffled], [f"of {one}" for one in shuffled[:3]] + [None]) == [True] * 4

    assert {one: result_of(engine, one) for one in shuffled} == {
        **{one: f"of {one}" for one in shuffled[:3]},
        shuffled[3]: None,
    }


def test_results_of_several_queues_and_lost_leases(make_engine: Callable[..., Engine]) -> None:
    one, other = make_engine(), make_engine()
    (first, second), (third,) = handles_of(one, 2).items(), handles_of(other, 1).items()
    assert one.ack(second[1]) == [True]

    assert ack(one, [third[1], second[1], first[1]], ["third", "too late", "first"]) == [True, False, True]

    assert [result_of(one, handle[0]) for handle in (first, second, third)] == ["first", None, "third"]


def test_without_results_history_has_no_array(engine: Engine) -> None:
    for count in (1, 3):
        engine.ack(*handles_of(engine, count).values())

    assert engine.rows("select results from signalbox.settled where queue_id = %s", engine.queue_id) == [
        (None,),
        (None,),
    ]


@pytest.mark.parametrize(
    ("results", "problem"),
    [
        (["x" * 65_535], "results has one of 65537 bytes of JSON: at most 65536"),
        ([1, 2], "results has 2 entries for 1 receipt handles"),
        ([], "results has 0 entries for 1 receipt handles"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_acked(engine: Engine, results: list[Any], problem: str) -> None:
    handles = handles_of(engine, 1)

    with pytest.raises(psycopg.Error) as caught:
        ack(engine, list(handles.values()), results)

    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SB400", "results")
    assert caught.value.diag.message_primary == problem
    assert engine.recounted()[2] == 1


def test_the_largest_result_is_kept(engine: Engine) -> None:
    handles = handles_of(engine, 1)

    assert ack(engine, list(handles.values()), ["x" * 65_534]) == [True]

    assert len(result_of(engine, next(iter(handles)))) == 65_534


def test_a_lane_goes_on_after_an_ack_with_a_result(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(mode="fifo")
    first, second = (engine.send(number, group_id="g") for number in range(2))
    (row,) = engine.receive(10)
    assert row[0] == first

    assert ack(engine, [row[1]], ["done"]) == [True]

    assert [row[0] for row in engine.receive(10)] == [second]
    assert engine.waiting() == 0
