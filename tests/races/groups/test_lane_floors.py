"""Known positions of a message group never hide a waiting message or a taken slot (hazards 1, 4 and 7).

A promoter begins at the position that `_note_lane` recorded. Each race is written once and run with the engine, which
delivers, and with a naive version, which strands the message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from queues.codes import Floor
from tests.engine import Engine
from tests.races.floors import MOVE_CLOCK, Floors, floor_at, found_above
from tests.races.naive import NaiveVerbs
from tests.races.sessions import until

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]
MakeFloors = Callable[..., Floors]

HINTS, AGES = Floor.LANE_HINT, Floor.WAITING
"""The kinds of heads that a queue with lanes has beside the others: hints, and what waits by its age."""

LANE_WRITERS = {",\n      'signalbox.waiting'::regclass, 'signalbox.lane_hint'::regclass": ""}
NO_HORIZON = {
    "least(v_first, v_horizon, v_returning)": (
        "coalesce(v_first, pg_sequence_last_value('signalbox.place'::regclass) + 1)"
    )
}
NOTE = """
select signalbox._note_lane(
  {queue_id}, 'a', e.epoch, f.ctid, coalesce(k.place, 0), coalesce(k.slot, 0), coalesce(k.latest, 0),
  coalesce(k.holders, '{{}}')
)
from (select pg_sequence_last_value('signalbox.lane_epoch'::regclass) as epoch) e
left join signalbox.lane_floor f on f.queue_id = {queue_id} and f.lane = 'a'
left join signalbox.lane_floor k on k.ctid = f.ctid and k.epoch = e.epoch
"""


@pytest.fixture
def limited(make_engine: MakeEngine) -> Engine:
    return make_engine(group_max_in_flight=2)


def note(engine: Engine) -> None:
    """Write down what is known of lane a, as a promoter does now and then."""
    engine.value(MOVE_CLOCK)
    engine.value(NOTE.format(queue_id=engine.queue_id))


def known(engine: Engine) -> tuple[int, int, list[int]]:
    """Known position and slot of group a, and the holders."""
    ((place, slot, holders),) = engine.rows(
        "select place, slot, holders from signalbox.lane_floor where queue_id = %s and lane = 'a'", engine.queue_id
    )
    return place, slot, holders


def pass_through(engine: Engine, *payloads: Any) -> list[int]:
    """Messages of lane a, one after the other: sent, received, acknowledged."""
    done = []
    for payload in payloads:
        done.append(engine.send(payload, group_id="a"))
        (row,) = engine.receive(10)
        assert engine.ack(row[1]) == [True]
    return done


def delivered(engine: Engine) -> list[int]:
    return [row[0] for row in engine.receive(10)]


def open_sender(engine: Engine, connect: Connect, payload: str = "slow") -> tuple[Engine, int]:
    """A transaction that has sent to lane a, and stays open."""
    sender = engine.on(connect())
    sender.connection.execute("begin")
    return sender, sender.send(payload, group_id="a")


def test_what_is_known_follows_what_was_consumed_and_stops_at_what_was_not(
    limited: Engine, make_floors: MakeFloors
) -> None:
    floors = make_floors(limited)
    pass_through(limited, 1, 2, 3)
    floors.tick()
    note(limited)
    consumed = known(limited)[0]
    waiting = [limited.send(number, group_id="a") for number in range(4)]
    places = "select place from signalbox.waiting where queue_id = %s order by place"
    assert consumed <= limited.rows(places, limited.queue_id)[0][0]

    first, second = limited.receive(10)
    floors.tick()
    note(limited)
    note(limited)  # which slots are left is known by the second

    place, slot, holders = known(limited)
    assert place == limited.rows(places, limited.queue_id)[0][0]
    assert sorted(holders) == [first[0], second[0]] == waiting[:2]
    assert slot == limited.value("select max(slot) from signalbox.lane_slot where queue_id = %s", limited.queue_id)
    limited.ack(first[1], second[1])
    assert delivered(limited) == waiting[2:]


def sent_slowly(sender: Engine, engine: Engine, floors: Floors, note: Callable[[], None]) -> int:
    """A place is drawn and not committed while the lane goes on and is noted."""
    message_id = sender.send("slow", group_id="a")
    pass_through(engine, "quick", "quick too")
    floors.tick()
    note()
    sender.connection.execute("commit")
    floors.tick()
    return message_id


def test_the_lane_begins_before_a_sender_that_is_open(
    limited: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(limited)
    pass_through(limited, "before")
    floors.tick()
    sender = limited.on(connect())
    sender.connection.execute("begin")

    message_id = sent_slowly(sender, limited, floors, lambda: note(limited))

    assert delivered(limited) == [message_id]
    assert floors.keeper.sweep() == 0


def test_without_the_horizon_an_open_sender_would_be_stranded(
    limited: Engine, make_floors: MakeFloors, connect: Connect, naive: NaiveVerbs
) -> None:
    naive.install("_note_lane", NO_HORIZON)
    floors = make_floors(limited)
    pass_through(limited, "before")
    floors.tick()
    sender = limited.on(connect())
    sender.connection.execute("begin")

    message_id = sent_slowly(sender, limited, floors, lambda: note(naive.engine(limited)))

    assert found_above(limited) == []
    assert floors.keeper.sweep() == 1
    assert delivered(limited) == [message_id]


def test_a_keeper_unaware_of_senders_to_lanes_would_strand_their_messages(
    limited: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(limited, LANE_WRITERS)
    pass_through(limited, "before")
    sender, _ = open_sender(limited, connect)
    pass_through(limited, "quick")
    floors.tick()
    note(limited)
    sender.connection.execute("commit")

    assert found_above(limited) == []


def test_a_batch_and_a_redrive_that_are_open_are_waited_for_too(
    limited: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(limited)
    dead = limited.send("dead", group_id="a")
    limited.nack(limited.receive_one()[1], reason="rejected")
    floors.tick()
    batch, redriver = limited.on(connect()), limited.on(connect())
    for session in (batch, redriver):
        session.connection.execute("begin")
    ((sent,),) = batch.rows(
        "select signalbox.send_batch(%s, array['1']::jsonb[], group_ids => array['a'])", limited.queue
    )
    redriver.rows(
        "select signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter where message_id = %s))", dead
    )
    pass_through(limited, "quick")
    floors.tick()
    note(limited)
    for session in (batch, redriver):
        session.connection.execute("commit")
    floors.tick()

    assert sorted(delivered(limited)) == [dead, sent]


def test_a_sender_that_was_passed_is_found_when_it_ends(
    limited: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    """The lane has been looked at without it, and its hint was used up by another's."""
    floors = make_floors(limited)
    pass_through(limited, "before")
    sender, message_id = open_sender(limited, connect)
    floors.tick()
    floors.lose_patience()
    pass_through(limited, "quick")
    floors.tick()
    note(limited)
    assert known(limited)[0] > sender.value("select place from signalbox.waiting where message_id = %s", message_id)
    sender.connection.execute("commit")
    pass_through(limited, "ahead of it")  # takes every hint there is, and looks above
    assert found_above(limited) == []

    floors.tick()

    assert delivered(limited) == [message_id]


def test_in_a_fifo_group_nothing_overtakes_a_sender_that_was_passed(
    make_engine: MakeEngine, make_floors: MakeFloors, connect: Connect
) -> None:
    """The next sender has the turn at once, before the keeper can say that the first has ended."""
    fifo = make_engine(mode="fifo")
    floors = make_floors(fifo)
    sender, first = open_sender(fifo, connect)
    floors.tick()
    floors.lose_patience()
    fifo.value("select nextval('signalbox.place')")
    floors.tick()
    note(fifo)
    assert fifo.value("select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()") == 0
    sender.connection.execute("commit")
    second = fifo.send("after it", group_id="a")

    for message_id in (first, second):
        ((received, handle, *_),) = fifo.receive(10)
        assert received == message_id
        fifo.ack(handle)


def test_a_new_leader_believes_nothing_that_was_noted_before(
    limited: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    """Leader that does not know which writers its predecessor had passed."""
    floors = make_floors(limited)
    pass_through(limited, "before")
    sender, message_id = open_sender(limited, connect)
    floors.tick()
    floors.lose_patience()
    pass_through(limited, "quick")
    floors.tick()
    note(limited)
    floors.keeper.resign()
    successor = make_floors(limited)
    successor.tick()
    note(limited)
    sender.connection.execute("commit")
    successor.tick()

    assert delivered(limited) == [message_id]


def test_nothing_known_is_used_when_upkeep_has_been_gone_for_ten_seconds(
    limited: Engine, make_floors: MakeFloors, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    floors = make_floors(limited)
    pass_through(limited, "before")
    sender, message_id = open_sender(limited, connect)
    floors.tick()
    floors.lose_patience()
    pass_through(limited, "quick")
    floors.tick()
    note(limited)
    observer.execute(
        "select setval('signalbox.clock', (extract(epoch from clock_timestamp()) * 1000000)::bigint - 11000000)"
    )
    sender.connection.execute("commit")

    assert delivered(limited) == [message_id]


def test_a_promoter_that_rolls_back_takes_back_what_it_noted(
    limited: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(limited)
    pass_through(limited, "before")
    message_id = limited.send("x", group_id="a")
    floors.tick()
    promoter = limited.on(connect())
    promoter.connection.execute("begin")
    assert delivered(promoter) == [message_id]
    note(promoter)
    floors.tick()
    promoter.connection.execute("rollback")

    assert delivered(limited) == [message_id]


def test_a_purge_that_is_rolled_back_keeps_its_messages_above_the_floor(
    limited: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(limited)
    held = [limited.send(number, group_id="a") for number in range(2)]
    handles = [row[1] for row in limited.receive(10)]
    waiting = limited.send("waits", group_id="a")
    purger = limited.on(connect())
    purger.connection.execute("begin")
    assert purger.value("select signalbox.purge(%s, states => '{waiting}')", limited.queue) == 1
    floors.tick()
    note(limited)
    floors.lose_patience()
    note(limited)
    purger.connection.execute("rollback")
    floors.tick()
    limited.ack(*handles)

    assert len(held) == 2
    assert delivered(limited) == [waiting]


def test_one_that_holds_its_slot_for_long_is_still_counted(limited: Engine, make_floors: MakeFloors) -> None:
    """The lane's other slot was taken and freed many times since, and noted in between."""
    floors = make_floors(limited)
    held = limited.send("slow work", group_id="a")
    handle = limited.receive_one()[1]
    for _ in range(3):
        pass_through(limited, 1, 2)
        floors.tick()
        note(limited)
    assert known(limited)[2] == [held]
    for number in range(3):
        limited.send(number, group_id="a")

    assert len(limited.receive(10)) == 1
    limited.ack(handle)
    assert len(limited.receive(10)) == 1
    assert limited.waiting() == 1


def test_one_that_returns_to_its_lane_is_counted_once(limited: Engine, make_floors: MakeFloors) -> None:
    """Message that was among the holders, backed off without its slot, and took another."""
    floors = make_floors(limited)
    first = limited.send("fails once", group_id="a")
    handle = limited.receive_one()[1]
    floors.tick()
    note(limited)
    note(limited)
    assert known(limited)[2] == [first]
    assert limited.nack(handle, delay_seconds=0.000001) == "retry"
    until(lambda: limited.value("select signalbox.return_and_promote(array[%s])", limited.queue_id), "its due time")
    second = limited.send("beside it", group_id="a")

    assert sorted(delivered(limited)) == [first, second]


def test_hints_begin_after_those_that_were_taken_and_before_those_that_are_open(
    limited: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(limited)
    pass_through(limited, 1)
    floors.tick()
    sender, message_id = open_sender(limited, connect)
    hinted_at = sender.value("select max(due_at) from signalbox.lane_hint where queue_id = %s", limited.queue_id)
    since = sender.value("select waiting_since from signalbox.waiting where message_id = %s", message_id)
    floors.tick()
    assert floor_at(limited, HINTS) <= hinted_at
    assert floor_at(limited, AGES) <= since
    sender.connection.execute("commit")
    floors.tick()
    assert limited.value("select signalbox.release_lanes()") >= 1

    floors.tick()
    assert floor_at(limited, HINTS) > hinted_at
    assert floor_at(limited, AGES) > since
    assert delivered(limited) == [message_id]


def test_a_pause_between_releases_does_not_hold_the_floor_of_hints(
    make_engine: MakeEngine, make_floors: MakeFloors
) -> None:
    engine = make_engine(group_max_in_flight=5, group_release_interval_seconds=3600)
    floors = make_floors(engine)
    for number in range(2):
        engine.send(number, group_id="a")
    assert len(engine.receive(10)) == 1
    before = engine.value("select clock_timestamp()")
    floors.tick()
    assert floor_at(engine, HINTS) >= before
    assert engine.receive(10) == []
    engine.connection.execute(
        "update signalbox.lane_hint set due_at = clock_timestamp() where queue_id = %s", (engine.queue_id,)
    )

    assert len(engine.receive(10)) == 1


def test_the_sweep_finds_what_lies_below_what_is_known(limited: Engine, make_floors: MakeFloors) -> None:
    floors = make_floors(limited)
    pass_through(limited, 1)
    floors.tick()
    note(limited)
    limited.connection.execute(
        "update signalbox.lane_floor set place = place + 1000 where queue_id = %s", [limited.queue_id]
    )
    message_id = limited.send("lost", group_id="a")
    assert found_above(limited) == []

    assert floors.keeper.sweep() == 1

    assert delivered(limited) == [message_id]
    assert floors.keeper.sweep() == 0


def test_the_sweep_finds_a_slot_that_was_not_known(limited: Engine, make_floors: MakeFloors) -> None:
    floors = make_floors(limited)
    limited.send("held", group_id="a")
    limited.receive_one()
    floors.tick()
    note(limited)
    note(limited)
    limited.connection.execute("update signalbox.lane_floor set holders = '{}' where queue_id = %s", [limited.queue_id])

    assert floors.keeper.sweep() == 1
    for number in range(2):
        limited.send(number, group_id="a")
    assert len(limited.receive(10)) == 1


def test_a_lane_that_has_been_empty_for_a_minute_leaves_no_row(limited: Engine, make_floors: MakeFloors) -> None:
    floors = make_floors(limited)
    pass_through(limited, 1)
    waiting = [limited.send(number, group_id="a") for number in range(3)]
    handles = {row[0]: row[1] for row in limited.receive(10)}
    floors.tick()
    note(limited)
    limited.connection.execute("update signalbox.lane_floor set noted_at = now() - interval '2 minutes'")
    limited.value("select signalbox.forget_lanes()")
    assert known(limited)  # held, so that it is still needed

    limited.ack(*handles.values())
    ((last, handle, *_),) = limited.receive(10)
    assert last == waiting[-1]
    limited.ack(handle)
    limited.connection.execute("update signalbox.lane_floor set noted_at = now() - interval '2 minutes'")
    assert limited.value("select signalbox.forget_lanes()") >= 1
    rows = limited.value("select count(*) from signalbox.lane_floor where queue_id = %s", limited.queue_id)
    assert rows == 0


class Traffic:
    """Senders to lane a of every kind of haste, and a consumer: what was committed, and what arrived."""

    def __init__(self, engine: Engine, connect: Connect) -> None:
        self.engine, self.connect, self.consumer = engine, connect, engine.on(connect())
        self.sent: set[int] = set()
        self.received: list[int] = []
        self.slow: list[tuple[Engine, int]] = []

    def send(self) -> None:
        self.slow.append(open_sender(self.engine, self.connect))
        self.sent.add(self.engine.send("quick", group_id="a"))

    def commit_slowest(self) -> None:
        sender, message_id = self.slow.pop(0)
        sender.connection.execute("commit")
        sender.connection.close()
        self.sent.add(message_id)

    def consume(self) -> None:
        for row in self.consumer.receive(10):
            self.received.append(row[0])
            self.consumer.ack(row[1])


def test_lanes_noted_all_the_time_while_leaders_change_lose_nothing(
    limited: Engine, connect: Connect, make_floors: MakeFloors
) -> None:
    """Two rivals for the lead: all that was sent arrives once."""
    rivals = [make_floors(limited), make_floors(limited)]
    traffic = Traffic(limited, connect)

    def tick(times: int, seconds: float) -> None:
        for floors in rivals:
            floors.tick(times, seconds=seconds)
        note(limited)

    for round_number in range(40):
        traffic.send()
        tick(2, 2.0)
        if round_number % 3 == 2:
            traffic.commit_slowest()
        if round_number % 10 == 9:
            next(rival for rival in rivals if rival.keeper.leading).keeper.resign()
        traffic.consume()
    while traffic.slow:
        traffic.commit_slowest()

    def arrived() -> bool:
        tick(1, 0.1)
        traffic.consume()
        return set(traffic.received) == traffic.sent

    until(arrived, "every message")
    assert len(traffic.received) == len(traffic.sent)
    assert [rival.keeper.sweep() for rival in rivals] == [0, 0]
    assert limited.waiting() == 0
