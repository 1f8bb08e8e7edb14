"""Policies of message groups: limits of one group, each optional, in place of those of its queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine

MakeEngine = Callable[..., Engine]


def set_policy(engine: Engine, group: str, **limits: Any) -> None:
    names = "".join(f", {name} => %s" for name in limits)
    engine.value(f"select signalbox.set_group_policy(%s, %s{names})", engine.queue, group, *limits.values())


def clear_policy(engine: Engine, group: str) -> bool:
    return bool(engine.value("select signalbox.clear_group_policy(%s, %s)", engine.queue, group))


def test_a_group_has_its_own_number_in_flight_and_its_own_pause(make_engine: MakeEngine) -> None:
    engine = make_engine(group_max_in_flight=1, group_release_interval_seconds=0)
    set_policy(engine, "wide", max_in_flight=3)
    set_policy(engine, "slow", max_in_flight=3, release_interval=3600.0)
    for group in ("wide", "slow", "other"):
        for number in range(4):
            engine.send(number, group_id=group)
    for _ in range(4):
        engine.value("select signalbox._promote_lanes(%s, 100)", engine.queue_id)
    groups = [row[4] for row in engine.receive(100)]
    assert {group: groups.count(group) for group in set(groups)} == {"wide": 3, "slow": 1, "other": 1}

    assert clear_policy(engine, "wide")
    assert not clear_policy(engine, "wide")
    assert engine.receive(100) == []


@pytest.mark.parametrize("of_queue", [0, 4])
def test_a_group_has_its_own_number_of_waiting_messages(make_engine: MakeEngine, of_queue: int) -> None:
    engine = make_engine(mode="fifo", group_max_waiting=of_queue)
    set_policy(engine, "small", max_waiting=2)
    for number in range(2):
        engine.send(number, group_id="small")
        engine.send(number, group_id="other")
    with pytest.raises(psycopg.Error) as refused:
        engine.send(3, group_id="small")
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB429", "group_max_waiting")
    with pytest.raises(psycopg.Error, match="allowed: 2"):
        engine.rows("select signalbox.send_batch(%s, array['1'::jsonb], group_ids => '{small}')", engine.queue)
    engine.send(3, group_id="other")
    assert clear_policy(engine, "small")
    engine.send(3, group_id="small")
    flags = engine.value("select admission_flags & 64 from signalbox.queue where queue_id = %s", engine.queue_id)
    assert flags == 0


def test_the_limit_of_before_stays_beside_the_others(make_engine: MakeEngine) -> None:
    engine = make_engine(group_max_in_flight=1)
    set_policy(engine, "g", max_in_flight=3, max_waiting=9)
    engine.value("select signalbox.limit_lane(%s, 'g', null)", engine.queue)
    kept = "select max_in_flight, max_waiting from signalbox.lane_limit where queue_id = %s"
    assert engine.rows(kept, engine.queue_id) == [(None, 9)]
    engine.value("select signalbox.limit_lane(%s, 'g', 2)", engine.queue)
    assert engine.rows(kept, engine.queue_id) == [(2, 9)]


@pytest.mark.parametrize(
    ("settings", "group", "limits", "field"),
    [
        ({"group_max_in_flight": 1}, "g", {}, "max_in_flight"),
        ({"group_max_in_flight": 1}, "g", {"max_in_flight": 0}, "max_in_flight"),
        ({"group_max_in_flight": 1}, "g", {"max_in_flight": 1001}, "max_in_flight"),
        ({"group_max_in_flight": 1}, "g", {"max_waiting": 0}, "max_waiting"),
        ({"group_max_in_flight": 1}, "g", {"release_interval": -1.0}, "release_interval"),
        ({"group_max_in_flight": 1}, "g", {"release_interval": float("nan")}, "release_interval"),
        ({"group_max_in_flight": 1}, "", {"max_waiting": 1}, "group_name"),
        ({"mode": "fifo"}, "g", {"max_in_flight": 2}, "max_in_flight"),
        ({"mode": "fifo"}, "g", {"release_interval": 2.0}, "release_interval"),
        ({}, "g", {"max_waiting": 1}, "max_in_flight"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_name(
    make_engine: MakeEngine, settings: Any, group: str, limits: Any, field: str
) -> None:
    engine = make_engine(**settings)
    with pytest.raises(psycopg.Error) as refused:
        set_policy(engine, group, **limits)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", field)
