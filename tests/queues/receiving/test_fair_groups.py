"""Queues with fair_groups: while several groups wait, consumers get one of each in turn, without a limit in flight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine

MakeEngine = Callable[..., Engine]
Connect = Callable[..., psycopg.Connection[Any]]
AHEAD = 32
"""Messages that a release makes ready beyond those that were asked for."""


@pytest.fixture
def fair(make_engine: MakeEngine) -> Engine:
    return make_engine(fair_groups=True)


def send(engine: Engine, group: str | None, messages: int) -> None:
    engine.rows(
        "select count(*) from signalbox.send_batch(%s, array_fill('1'::jsonb, array[%s::integer]), group_ids => %s)",
        engine.queue,
        messages,
        None if group is None else [group] * messages,
    )


def configure(engine: Engine, **settings: Any) -> None:
    engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb(settings))


def groups(engine: Engine, most: int) -> Sequence[str | None]:
    """The groups of the messages that one claim gets."""
    return [row[4] for row in engine.receive(most)]


def drained(engine: Engine, most: int = 10) -> list[str | None]:
    """Receive and acknowledge until nothing comes; return the groups in the order of claims."""
    received: list[str | None] = []
    while rows := engine.receive(most):
        engine.ack(*(row[1] for row in rows))
        received += [row[4] for row in rows]
    return received


class TestTurns:
    def test_groups_take_turns_whatever_their_sizes(self, fair: Engine) -> None:
        send(fair, "large", 3000)
        for group in ("b", "c"):
            send(fair, group, 40)

        first = [group for _ in range(20) for group in groups(fair, 6)]

        assert Counter(first) == {"large": 40, "b": 40, "c": 40}

    def test_a_new_group_waits_only_for_what_is_ready(self, fair: Engine) -> None:
        send(fair, "large", 2000)
        assert len(groups(fair, 10)) == 10
        fair.send(group_id="small")

        behind = [group for _ in range(5) for group in groups(fair, 10)]

        assert "small" in behind[: AHEAD + 20]

    def test_more_groups_than_a_release_takes_have_their_turns(self, fair: Engine) -> None:
        names = [f"group-{number:03}" for number in range(100)]
        for group in names:
            send(fair, group, 3)

        for _ in range(2):
            assert Counter(groups(fair, 50) + groups(fair, 50)) == Counter(names)

    def test_single_sends_of_one_group_do_not_hide_another(self, fair: Engine) -> None:
        fair.rows("select count(signalbox.send(%s, '1', group_id => 'busy')) from generate_series(1, 2500)", fair.queue)
        fair.send(group_id="quiet")

        assert "quiet" in groups(fair, 10)

    def test_a_claim_gets_what_it_asks_for_from_any_groups(self, fair: Engine) -> None:
        send(fair, "large", 500)
        for number in range(5):
            fair.send(group_id=f"small {number}")

        assert len(groups(fair, 100)) == 100
        assert len(groups(fair, 400)) == 400
        assert len(groups(fair, 100)) == 5

    def test_a_group_alone_is_not_limited(self, fair: Engine) -> None:
        send(fair, "alone", 1500)

        assert len(groups(fair, 1000)) == 1000
        assert len(groups(fair, 1000)) == 500

    def test_a_dead_consumer_stalls_nothing(self, fair: Engine) -> None:
        send(fair, "alone", 200)
        assert len(groups(fair, 150)) == 150  # never acknowledged

        assert len(groups(fair, 100)) == 50

    def test_messages_without_a_group_do_not_keep_groups_out(self, fair: Engine) -> None:
        send(fair, None, 60)
        send(fair, "a", 5)
        received: list[str | None] = []
        for _ in range(12):
            send(fair, None, 10)  # as many as a claim takes
            received += groups(fair, 10)

        assert received.count("a") == 5

    def test_retries_wait_for_the_turn_of_their_group(self, fair: Engine) -> None:
        send(fair, "failing", 100)
        for row in fair.receive(100):
            fair.nack(row[1], delay_seconds=0.000001)
        send(fair, "other", 2)
        fair.value("select signalbox.return_and_promote(array[%s])", fair.queue_id)

        assert fair.waiting() == 102
        assert Counter(groups(fair, 4)) == {"failing": 2, "other": 2}


class TestEverythingElse:
    @pytest.mark.parametrize("most", [1, 7, 100])
    def test_all_is_delivered_once_and_counted(self, fair: Engine, most: int) -> None:
        for group, messages in (("a", 45), ("b", 7), (None, 12), ("c", 1)):
            send(fair, group, messages)

        assert Counter(drained(fair, most)) == {"a": 45, "b": 7, None: 12, "c": 1}
        assert (fair.counted(), fair.lanes()) == (fair.recounted(), {})
        assert fair.recounted() == (0,) * 5

    def test_counts_are_exact_half_way(self, fair: Engine) -> None:
        send(fair, "a", 90)
        send(fair, "b", 3)
        handles = [row[1] for row in fair.receive(10)]
        fair.ack(*handles[:3])
        fair.nack(handles[3], reason="rejected")
        fair.nack(handles[4], delay_seconds=3600)
        fair.nack(handles[5], delay_seconds=0)

        assert (fair.counted(), fair.lanes()) == (fair.recounted(), fair.lanes_recounted())
        fair.value("select signalbox.aggregate_counters()")
        assert (fair.counted(), fair.lanes()) == (fair.recounted(), fair.lanes_recounted())

    def test_priority_decides_among_what_is_ready(self, fair: Engine) -> None:
        send(fair, "a", 20)
        fair.send("urgent", group_id="b", priority=5)

        assert fair.receive_one()[3] == "urgent"

    def test_a_redriven_message_waits_in_its_group(self, fair: Engine) -> None:
        fair.send(group_id="a")
        fair.nack(fair.receive_one()[1], reason="rejected")
        letters = "array(select dead_letter_id from signalbox.dead_letter where source_queue_id = %s)"
        fair.rows(f"select signalbox.redrive({letters})", fair.queue_id)

        assert (fair.waiting(), groups(fair, 10)) == (1, ["a"])

    def test_upkeep_makes_the_first_ready_for_consumers_that_sleep(self, fair: Engine) -> None:
        send(fair, "a", 100)
        for _ in range(3):
            fair.value("select signalbox.release_lanes()")

        assert fair.waiting() == 100 - AHEAD

    def test_a_full_group_refuses(self, make_engine: MakeEngine) -> None:
        engine = make_engine(fair_groups=True, group_max_waiting=3)
        send(engine, "a", 3)

        with pytest.raises(psycopg.Error, match="3 messages wait in the message group 'a'; allowed: 3"):
            engine.send(group_id="a")
        engine.send(group_id="b")

    def test_a_dead_letter_queue_shares_nothing(self, engine: Engine, fair: Engine) -> None:
        with pytest.raises(psycopg.Error, match="limits or shares message groups"):
            configure(engine, dead_letter_queue=fair.queue)
        configure(engine, dead_letter_queue=f"{engine.queue}-dead")
        with pytest.raises(psycopg.Error, match="fair_groups of a dead-letter queue is no"):
            engine.value("select signalbox.configure_queue(%s, '{\"fair_groups\": true}')", f"{engine.queue}-dead")


OF_GROUPS = {"_enter_lane", "_leave_lanes", "_share_lanes", "_promote_lanes", "_send_to_lanes", "_note_lane"}


def called(session: Engine, group: str | None) -> set[str]:
    """The functions that sends, claims and an ack of a message call; messages stay ready behind it."""
    session.connection.execute("begin")
    session.connection.execute("set local track_functions = 'all'")
    for _ in range(3):
        session.send(group_id=group)
    send(session, group, 10)
    session.ack(session.receive_one()[1])
    names = session.rows("select funcname from pg_stat_xact_user_functions where schemaname = 'signalbox'")
    session.connection.execute("rollback")
    return {row[0] for row in names}


class TestCost:
    @pytest.mark.parametrize("group", [None, "a"])
    def test_a_queue_that_does_not_share_calls_nothing_for_groups(
        self, engine: Engine, connect: Connect, group: str | None
    ) -> None:
        assert not called(engine.on(connect()), group) & OF_GROUPS

    def test_a_message_without_a_group_waits_nowhere(self, fair: Engine, connect: Connect) -> None:
        functions = called(fair.on(connect()), None)

        assert "_share_lanes" in functions  # without upkeep every claim looks
        assert functions & OF_GROUPS == {"_share_lanes"}


class TestChanges:
    def test_switched_on_it_shares_what_is_sent_from_then_on(self, engine: Engine) -> None:
        send(engine, "before", 5)
        configure(engine, fair_groups=True)
        send(engine, "large", 200)
        engine.send(group_id="small")

        assert groups(engine, 5) == ["before"] * 5
        assert "small" in groups(engine, 10)

    def test_switched_off_it_delivers_all_that_waits(self, fair: Engine) -> None:
        send(fair, "a", 200)
        held = [row[1] for row in fair.receive(10)]
        configure(fair, fair_groups=False)

        assert len(drained(fair, 50)) == 190
        assert all(fair.ack(*held))
        assert (fair.waiting(), fair.counted()) == (0, fair.recounted())
        fair.send(group_id="a")
        assert fair.waiting() == 0

    def test_a_limit_wins(self, make_engine: MakeEngine) -> None:
        engine = make_engine(fair_groups=True, group_max_in_flight=2)
        send(engine, "a", 10)

        assert groups(engine, 10) == ["a", "a"]
        configure(engine, group_max_in_flight=0)
        assert len(groups(engine, 10)) == 8

    def test_a_limit_applies_to_what_still_waits(self, fair: Engine) -> None:
        send(fair, "a", 100)
        held = [row[1] for row in fair.receive(5)]
        configure(fair, group_max_in_flight=1)

        ready = len(fair.receive(AHEAD))  # was released before
        assert (ready, len(fair.receive(10))) == (AHEAD, 1)
        assert all(fair.ack(*held))
        assert fair.receive(10) == []
        assert (fair.counted(), fair.lanes()) == (fair.recounted(), fair.lanes_recounted())
