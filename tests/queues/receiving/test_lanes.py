"""Lanes: groups with limits of their own. Only what may run now is ready; the rest keeps its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from queues.errors import QuotaExceeded, translated
from tests.engine import Engine

MakeEngine = Callable[..., Engine]


@pytest.fixture
def fifo(make_engine: MakeEngine) -> Engine:
    return make_engine(mode="fifo", max_receives=2)


def configure(engine: Engine, **settings: Any) -> None:
    engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb(settings))


def groups_received(engine: Engine, most: int = 100) -> list[tuple[str | None, int]]:
    """Group and payload of each message that can be received now, in order."""
    rows = engine.rows(
        "select group_id, payload from signalbox.receive(%s, %s) order by message_id", engine.queue, most
    )
    return [(group, payload) for group, payload in rows]


class TestFifo:
    def test_one_message_of_a_group_at_a_time_in_the_order_sent(self, fifo: Engine) -> None:
        sent = [fifo.send(number, group_id="a") for number in range(3)]

        for message_id in sent:
            ((received, handle, *_),) = fifo.receive(10)
            assert received == message_id
            assert fifo.receive(10) == []
            assert fifo.ack(handle) == [True]
        assert fifo.receive(10) == []
        assert (fifo.waiting(), fifo.counted(), fifo.recounted()) == (0, (0,) * 5, (0,) * 5)

    def test_groups_do_not_wait_for_each_other(self, fifo: Engine) -> None:
        for number in range(3):
            for group in ("a", "b", None):
                fifo.send(number, group_id=group)

        assert {row[0] for row in groups_received(fifo)} == {"a", "b", None}
        assert fifo.waiting() == 6

    def test_a_batch_keeps_the_order_within_each_group(self, fifo: Engine) -> None:
        fifo.rows(
            "select signalbox.send_batch(%s, array['1','2','3','4']::jsonb[], group_ids => array['b','a','b','a'])",
            fifo.queue,
        )

        assert sorted(groups_received(fifo)) == [("a", 2), ("b", 1)]

    def test_a_retry_keeps_the_group_waiting(self, fifo: Engine) -> None:
        first = fifo.send("first", group_id="a")
        fifo.send("second", group_id="a")

        assert fifo.nack(fifo.receive_one()[1], delay_seconds=3600) == "retry"
        assert fifo.receive(10) == []
        fifo.connection.execute(
            "update signalbox.scheduled set due_at = clock_timestamp() where message_id = %s", (first,)
        )
        assert fifo.receive_one()[0] == first

    def test_an_expired_lease_comes_before_the_next(self, fifo: Engine) -> None:
        first = fifo.send("first", group_id="a")
        fifo.send("second", group_id="a")
        fifo.receive_one()
        fifo.connection.execute(
            "update signalbox.lease set deadline = clock_timestamp() where message_id = %s", (first,)
        )

        assert fifo.receive_one()[0] == first

    def test_a_message_given_back_comes_before_the_next(self, fifo: Engine) -> None:
        first = fifo.send("first", group_id="a")
        fifo.send("second", group_id="a")
        fifo.value("select signalbox.change_visibility(%s, 0)", fifo.receive_one()[1])

        assert fifo.receive_one()[0] == first

    def test_a_dead_message_lets_the_next_go_and_returns_last(self, fifo: Engine) -> None:
        first, second, third = (fifo.send(number, group_id="a") for number in range(3))
        assert fifo.nack(fifo.receive_one()[1], reason="rejected") == "dead"

        (received, handle, *_) = fifo.receive_one()
        assert received == second
        fifo.rows(
            "select signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter where message_id = %s))",
            first,
        )
        fifo.ack(handle)

        (received, handle, *_) = fifo.receive_one()
        assert received == third
        fifo.ack(handle)
        assert fifo.receive_one()[0] == first

    def test_purging_what_is_ahead_lets_the_next_go(self, fifo: Engine) -> None:
        first = fifo.send("first", group_id="a")
        fifo.receive_one()
        second = fifo.send("second", group_id="a")

        assert fifo.value("select signalbox.purge(%s, %s, '{leased}')", fifo.queue, first) == 1
        assert fifo.receive_one()[0] == second

    def test_a_purge_takes_what_waits(self, fifo: Engine) -> None:
        for number in range(5):
            fifo.send(number, group_id="a")

        assert fifo.value("select signalbox.purge(%s)", fifo.queue) == 5
        assert (fifo.receive(10), fifo.waiting()) == ([], 0)
        assert fifo.send("next", group_id="a") == fifo.receive_one()[0]

    def test_what_waits_too_long_expires(self, fifo: Engine) -> None:
        fifo.send("first", group_id="a")
        fifo.receive_one()
        fifo.send("second", group_id="a")
        fifo.connection.execute(
            "update signalbox.waiting set waiting_since = now() - interval '1 year' where queue_id = %s",
            (fifo.queue_id,),
        )

        assert fifo.value("select signalbox.expire_messages()") >= 1
        assert fifo.waiting() == 0

    def test_a_delay_is_refused(self, fifo: Engine) -> None:
        with pytest.raises(psycopg.Error, match="delay_seconds cannot be given in a FIFO queue"):
            fifo.send(delay_seconds=1, group_id="a")
        with pytest.raises(psycopg.Error, match="delay_seconds cannot be given in a FIFO queue"):
            fifo.value("select signalbox.configure_queue(%s, '{\"delay_seconds\": 1}')", fifo.queue)

    def test_a_queue_that_holds_messages_keeps_its_mode(self, engine: Engine) -> None:
        engine.send(group_id="a")

        with pytest.raises(psycopg.Error, match="mode can be changed only while the queue is closed"):
            configure(engine, mode="fifo")
        configure(engine, closed=True)
        with pytest.raises(psycopg.Error, match="mode can be changed only while the queue is empty"):
            configure(engine, mode="fifo")

        engine.ack(engine.receive_one()[1])
        configure(engine, mode="fifo")
        configure(engine, mode="standard", closed=False)


class TestLimits:
    def test_no_more_of_a_group_are_in_flight_than_its_limit(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=2)
        for number in range(5):
            engine.send(number, group_id="a")

        handles = [row[1] for row in engine.receive(10)]
        assert len(handles) == 2
        engine.ack(*handles[:1])
        assert len(engine.receive(10)) == 1
        assert (engine.waiting(), engine.counted()) == (2, engine.recounted())

    def test_messages_without_a_group_are_not_limited(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=1)
        for number in range(5):
            engine.send(number)

        assert len(engine.receive(10)) == 5

    def test_a_small_group_does_not_wait_for_a_large_one(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=3)
        engine.rows(
            "select signalbox.send_batch(%s, array_fill('1'::jsonb, array[500]),"
            " group_ids => array_fill('large'::text, array[500]))",
            engine.queue,
        )
        for number in range(3):
            engine.send(number, group_id="small")

        first = [row[0] for row in engine.rows("select group_id from signalbox.receive(%s, 6)", engine.queue)]
        assert sorted(first) == ["large"] * 3 + ["small"] * 3

    def test_a_message_that_backs_off_gives_its_slot_away(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=1)
        first, second = engine.send(1, group_id="a"), engine.send(2, group_id="a")
        engine.nack(engine.receive_one()[1], delay_seconds=3600)

        assert engine.receive_one()[0] == second
        engine.connection.execute(
            "update signalbox.scheduled set due_at = clock_timestamp() where message_id = %s", (first,)
        )
        assert engine.receive(10) == []
        assert (engine.waiting(), engine.counted()) == (1, engine.recounted())

    def test_a_group_may_have_a_limit_of_its_own(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=1)
        engine.value("select signalbox.limit_lane(%s, 'a', 3)", engine.queue)
        for group in ("a", "b"):
            for number in range(5):
                engine.send(number, group_id=group)

        assert sorted(group for group, _ in groups_received(engine)) == ["a", "a", "a", "b"]
        engine.value("select signalbox.limit_lane(%s, 'a', 4)", engine.queue)
        assert [group for group, _ in groups_received(engine)] == ["a"]

    def test_a_raised_limit_lets_the_waiting_go(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=1)
        for number in range(5):
            engine.send(number, group_id="a")
        assert len(engine.receive(10)) == 1

        engine.value("select signalbox.configure_queue(%s, '{\"group_max_in_flight\": 3}')", engine.queue)
        assert len(engine.receive(10)) == 2

    def test_no_limit_any_more_lets_all_go(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=1)
        for number in range(5):
            engine.send(number, group_id="a")
        engine.value("select signalbox.configure_queue(%s, '{\"group_max_in_flight\": 0}')", engine.queue)

        engine.value("select signalbox.release_lanes()")
        assert len(engine.receive(10)) == 5

    def test_releases_keep_their_distance(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=10, group_release_interval_seconds=3600)
        for number in range(3):
            engine.send(number, group_id="a")

        assert len(engine.receive(10)) == 1
        engine.send(4, group_id="a")
        assert engine.receive(10) == []
        engine.connection.execute(
            "update signalbox.lane_hint set due_at = clock_timestamp() where queue_id = %s", (engine.queue_id,)
        )
        assert len(engine.receive(10)) == 1

    def test_lanes_that_are_done_leave_no_row(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=1)
        for number in range(20):
            engine.send(number, group_id=f"group-{number % 7}")
        while rows := engine.receive(10):
            engine.ack(*(row[1] for row in rows))
        engine.value("select signalbox.aggregate_counters()")
        engine.value("select signalbox.release_lanes()")
        # What is known and counted of a lane stays for a minute, in case it fills again.
        for table, column in (("lane_floor", "noted_at"), ("lane_stat", "aggregated_at")):
            engine.connection.execute(f"update signalbox.{table} set {column} = now() - interval '2 minutes'".encode())
        engine.value("select signalbox.forget_lanes()")
        engine.value("select signalbox.clean_up()")

        for table in ("waiting", "lane_slot", "lane_hint", "lane_limit", "lane_floor", "lane_stat"):
            assert engine.value(f"select count(*) from signalbox.{table} where queue_id = %s", engine.queue_id) == 0, (
                table
            )


class TestFullLanes:
    def test_a_send_into_a_full_lane_is_refused_and_leaves_nothing(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=1, group_max_waiting=2)
        for number in range(2):
            engine.send(number, group_id="a")

        with pytest.raises(QuotaExceeded) as caught, translated():
            engine.send("one too many", group_id="a")

        error = caught.value
        assert (error.reason, error.limit, error.actual, error.retry_after) == ("lane", 2, 3, 1)
        assert error.field == "group_max_waiting"
        assert engine.waiting() == 2
        engine.send("another group", group_id="b")
        engine.send("no group")

    def test_room_is_made_by_what_is_let_go(self, make_engine: MakeEngine) -> None:
        engine = make_engine(mode="fifo", group_max_waiting=1)
        engine.send("under way", group_id="a")
        handle = engine.receive_one()[1]
        engine.send("waits", group_id="a")
        with pytest.raises(psycopg.Error, match="1 messages wait in the message group 'a'; allowed: 1"):
            engine.send("one too many", group_id="a")

        engine.ack(handle)
        engine.receive_one()
        engine.send("fits", group_id="a")

    def test_a_batch_goes_whole_or_not_at_all(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=1, group_max_waiting=3)
        batch = "select signalbox.send_batch(%s, array_fill('1'::jsonb, array[%s]), group_ids => %s)"
        with pytest.raises(QuotaExceeded) as caught, translated():
            engine.rows(batch, engine.queue, 6, ["a"] * 4 + ["b"] * 2)
        assert caught.value.retry_after is None  # it would never fit
        assert engine.waiting() == 0

        engine.rows(batch, engine.queue, 6, ["a"] * 3 + ["b"] * 3)
        with pytest.raises(QuotaExceeded) as caught, translated():
            engine.rows(batch, engine.queue, 2, ["c", "b"])
        assert caught.value.retry_after == 1
        assert engine.waiting() == 6

    def test_what_returns_to_its_lane_is_not_refused(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=1, group_max_waiting=1)
        dead = engine.send("dies", group_id="a")
        engine.nack(engine.receive_one()[1], reason="rejected")
        engine.send("under way", group_id="a")
        engine.receive_one()
        engine.send("waits", group_id="a")

        redrive = (
            "select signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter where message_id = %s))"
        )
        assert len(engine.rows(redrive, dead)) == 1
        assert engine.waiting() == 2


class TestBlockedByTheDead:
    @pytest.fixture
    def blocked(self, make_engine: MakeEngine) -> tuple[Engine, list[int]]:
        """A group whose first has died, with two behind it."""
        engine = make_engine(mode="fifo", fifo_block_on_dead_letter=True)
        sent = [engine.send(number, group_id="a") for number in range(3)]
        assert engine.nack(engine.receive_one()[1], reason="rejected") == "dead"
        return engine, sent

    def test_its_group_waits_and_others_do_not(self, blocked: tuple[Engine, list[int]]) -> None:
        engine, _ = blocked
        assert engine.receive(10) == []
        other = engine.send("another", group_id="b")
        assert [row[0] for row in engine.receive(10)] == [other]
        assert (engine.waiting(), engine.counted()) == (2, engine.recounted())

    def test_redriven_it_goes_first(self, blocked: tuple[Engine, list[int]]) -> None:
        engine, sent = blocked
        engine.rows(
            "select signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter where message_id = %s))",
            sent[0],
        )

        for message_id in sent:
            ((received, handle, *_),) = engine.receive(10)
            assert received == message_id
            engine.ack(handle)
        assert (engine.waiting(), engine.counted()) == (0, engine.recounted())
        assert engine.value("select count(*) from signalbox.lane_slot where queue_id = %s", engine.queue_id) == 0

    @pytest.mark.parametrize(
        "way",
        [
            (
                "signalbox.delete_dead_letters(array(select dead_letter_id from signalbox.dead_letter"
                " where message_id = %s))"
            ),
            "signalbox.purge('{queue}-dlq', states => array['dead']) from (select %s) message",
            "signalbox.configure_queue('{queue}', '{{\"fifo_block_on_dead_letter\": false}}') from (select %s) message",
            "count(*) from signalbox.receive('{queue}-dlq', 10), (select %s) message",
            (
                "count(*) from signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter"
                " where message_id = %s), target_queue => '{queue}-dlq')"
            ),
        ],
        ids=["deleted", "purged", "no longer blocking", "received from its queue", "redriven elsewhere"],
    )
    def test_the_next_goes_when_it_is_gone(self, blocked: tuple[Engine, list[int]], way: str) -> None:
        engine, sent = blocked
        engine.rows("select " + way.format(queue=engine.queue), sent[0])

        assert [row[0] for row in engine.receive(10)] == [sent[1]]

    def test_it_expires_like_any_dead_letter(self, blocked: tuple[Engine, list[int]]) -> None:
        engine, sent = blocked
        engine.connection.execute(
            "update signalbox.dead_letter set died_at = now() - interval '1 year' where message_id = %s", (sent[0],)
        )
        engine.value("select signalbox.expire_messages()")

        assert [row[0] for row in engine.receive(10)] == [sent[1]]

    def test_only_a_fifo_queue_knows_it(self, make_engine: MakeEngine) -> None:
        with pytest.raises(psycopg.Error, match="fifo_block_on_dead_letter needs a FIFO queue"):
            make_engine(fifo_block_on_dead_letter=True)


class TestCounts:
    def test_each_lane_is_counted_through_everything_that_happens_to_it(self, make_engine: MakeEngine) -> None:
        """Send singly and in batches, fail, back off, redrive, purge and expire, with aggregations between."""
        engine = make_engine(group_max_in_flight=2, max_receives=2)
        for number in range(3):
            engine.send(number, group_id="a")
        engine.rows(
            "select signalbox.send_batch(%s, array_fill('1'::jsonb, array[5]), group_ids => %s)",
            engine.queue,
            ["a", "b", "b", "b", None],
        )
        assert engine.lanes() == engine.lanes_recounted() == {"a": (4, 0), "b": (3, 0)}

        received = {row[0]: row[1] for row in engine.receive(10)}
        assert engine.lanes() == engine.lanes_recounted() == {"a": (2, 2), "b": (1, 2)}
        engine.value("select signalbox.aggregate_counters()")
        handles = list(received.values())
        engine.ack(handles[0])
        engine.nack(handles[1], delay_seconds=0.000001)
        engine.nack(handles[2], reason="rejected")
        engine.value("select signalbox.return_and_promote(array[%s])", engine.queue_id)
        assert engine.lanes() == engine.lanes_recounted()
        engine.value("select signalbox.aggregate_counters()")
        letters = "array(select dead_letter_id from signalbox.dead_letter where source_queue_id = %s)"
        engine.rows(f"select signalbox.redrive({letters})", engine.queue_id)
        assert engine.lanes() == engine.lanes_recounted()
        engine.connection.execute(
            "update signalbox.waiting set waiting_since = now() - interval '1 year' where queue_id = %s and lane = 'a'",
            [engine.queue_id],
        )
        engine.value("select signalbox.expire_messages()")
        assert engine.lanes() == engine.lanes_recounted()
        engine.value("select signalbox.purge(%s, states => '{ready,scheduled,waiting,leased}')", engine.queue)
        assert engine.lanes() == engine.lanes_recounted() == {}

    def test_a_lane_that_has_been_empty_for_a_minute_leaves_no_row(self, make_engine: MakeEngine) -> None:
        engine = make_engine(group_max_in_flight=1)
        engine.send(group_id="a")
        engine.value("select signalbox.aggregate_counters()")
        engine.ack(engine.receive_one()[1])
        engine.value("select signalbox.aggregate_counters()")
        engine.connection.execute("update signalbox.lane_stat set aggregated_at = now() - interval '2 minutes'")
        engine.value("select signalbox.clean_up()")

        assert engine.value("select count(*) from signalbox.lane_stat where queue_id = %s", engine.queue_id) == 0
        engine.send(group_id="a")
        assert engine.lanes() == {"a": (1, 0)}

    def test_more_than_a_thousand_are_counted(self, make_engine: MakeEngine) -> None:
        engine = make_engine(mode="fifo")
        engine.rows("select count(*) from signalbox.send_batch(%s, array_fill('1'::jsonb, array[5000]))", engine.queue)
        engine.receive(1)

        assert engine.lanes() == engine.lanes_recounted() == {"": (4999, 1)}


class TestOpenClaims:
    """A claim in an open transaction holds its groups; all other groups are delivered."""

    def test_the_hints_of_one_held_group_do_not_hide_the_other_groups(
        self, fifo: Engine, connect: Callable[..., psycopg.Connection[Any]]
    ) -> None:
        fifo.rows(
            "select count(signalbox.send(%s, to_jsonb(n), group_id => 'busy')) from generate_series(1, 3000) n",
            fifo.queue,
        )
        fifo.rows(
            "select count(signalbox.send(%s, to_jsonb(n), group_id => 'group ' || n)) from generate_series(1, 50) n",
            fifo.queue,
        )
        open_claim = connect(autocommit=False)
        assert [row[4] for row in fifo.on(open_claim).receive(1)] == ["busy"]

        received = [row[4] for _ in range(20) for row in fifo.receive(10)]

        assert sorted(received) == sorted(f"group {number}" for number in range(1, 51))

    def test_an_open_claim_releases_no_group_that_it_may_not_take(
        self, fifo: Engine, connect: Callable[..., psycopg.Connection[Any]]
    ) -> None:
        fifo.rows(
            "select count(signalbox.send(%s, to_jsonb(n), group_id => 'group ' || n)) from generate_series(1, 30) n",
            fifo.queue,
        )
        open_claim = connect(autocommit=False)
        assert len(fifo.on(open_claim).receive(10)) == 10

        assert len(fifo.receive(30)) == 20

    @pytest.mark.parametrize(("groups", "held", "asked"), [(300, 50, 1), (300, 50, 50), (900, 200, 10)])
    def test_held_groups_do_not_use_up_what_a_claim_looks_at(
        self,
        make_engine: MakeEngine,
        connect: Callable[..., psycopg.Connection[Any]],
        groups: int,
        held: int,
        asked: int,
    ) -> None:
        limited = make_engine(group_max_in_flight=1)
        for first in range(0, groups, 300):
            limited.rows(
                "select count(signalbox.send(%s, to_jsonb(n), group_id => 'group ' || n))"
                " from generate_series(%s::integer, %s::integer) n",
                limited.queue,
                first + 1,
                first + 300,
            )
        open_claim = connect(autocommit=False)
        assert len(limited.on(open_claim).receive(held)) == held

        assert len(limited.receive(asked)) == asked

    def test_more_hints_of_a_held_group_than_a_claim_reads_do_not_hide_the_others_for_ever(
        self, fifo: Engine, connect: Callable[..., psycopg.Connection[Any]]
    ) -> None:
        fifo.send("first", group_id="busy")
        fifo.rows(
            "with hints as (insert into signalbox.lane_hint (queue_id, lane, due_at)"
            " select %s, 'busy', clock_timestamp() - interval '1 hour' + n * interval '0.1 second'"
            " from generate_series(1, 30000) n returning 1) select count(*) from hints",
            fifo.queue_id,
        )
        open_claim = connect(autocommit=False)
        assert len(fifo.on(open_claim).receive(1)) == 1
        fifo.send("other", group_id="other")

        rounds = next(number for number in range(1, 1000) if fifo.receive(1))
        assert rounds < 1000

    def test_groups_in_flight_do_not_use_up_the_rows_of_a_claim(
        self, fifo: Engine, connect: Callable[..., psycopg.Connection[Any]]
    ) -> None:
        fifo.rows(
            "select count(signalbox.send(%s, to_jsonb(n), group_id => 'group ' || n)) from generate_series(1, 30) n",
            fifo.queue,
        )
        holder = connect(autocommit=False)
        holder.execute(
            "select from signalbox.waiting where queue_id = %s and lane <> 'group 30' for update", (fifo.queue_id,)
        )

        assert [row[4] for row in fifo.receive(1)] == ["group 30"]


def test_what_waits_is_received_when_the_limit_is_taken_off(make_engine: MakeEngine) -> None:
    limited = make_engine(group_max_in_flight=1)
    sent = [limited.send(number, group_id="a") for number in range(6)]
    assert len(limited.receive(10)) == 1

    limited.value("select signalbox.configure_queue(%s, '{\"group_max_in_flight\": 0}')", limited.queue)

    assert sorted(row[0] for row in limited.receive(10)) == sent[1:]
    assert limited.waiting() == 0
