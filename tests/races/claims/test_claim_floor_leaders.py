"""Leaders of the claim floors, the writers that they pass, and the state after a lost leader (hazards 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql

from queues.upkeep.claim_floors import GROUP_PATIENCE_SECONDS, PATIENCE_SECONDS, FloorKeeper
from tests.engine import Engine
from tests.races.floors import TERM_SECONDS, Floors, found_above, set_floor
from tests.races.sessions import until

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]
MakeFloors = Callable[..., Floors]


def delivered(engine: Engine) -> list[int]:
    return [row[0] for row in engine.receive(10)]


def open_sender(engine: Engine, connect: Connect, payload: str = "slow") -> tuple[psycopg.Connection[Any], int]:
    """A session with a message sent and not committed."""
    sender = engine.on(connect())
    sender.connection.execute("begin")
    return sender.connection, sender.send(payload)


def test_a_sender_that_stays_open_is_passed_and_the_floor_goes_back_when_it_ends(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(engine)
    floors.tick()
    forgotten, message_id = open_sender(engine, connect)
    floors.tick()
    held_at = floors.at()

    floors.lose_patience()

    assert floors.at() > held_at
    other = engine.send("of another writer")
    assert delivered(engine) == [other]
    forgotten.execute("commit")
    assert floors.keeper.sweep() == 0  # what is known to be late is no alarm
    floors.tick(1)
    assert delivered(engine) == [message_id]
    assert not floors.keeper.passed


def test_a_writer_is_passed_later_where_messages_wait_for_their_groups(
    engine: Engine, make_engine: MakeEngine, make_floors: MakeFloors, connect: Connect
) -> None:
    """The end of a passed writer costs a look at every group."""
    floors = make_floors(engine)
    floors.tick()
    open_sender(engine, connect)
    floors.tick()
    floors.tick(1, seconds=PATIENCE_SECONDS)
    assert len(floors.keeper.passed) == 1

    grouped = make_engine(group_max_in_flight=1)
    open_sender(grouped, connect)
    floors.tick()
    floors.tick(1, seconds=PATIENCE_SECONDS)
    assert len(floors.keeper.passed) == 1
    floors.tick(1, seconds=GROUP_PATIENCE_SECONDS - PATIENCE_SECONDS)
    assert len(floors.keeper.passed) == 2


def test_a_keeper_that_forgets_whom_it_passed_would_strand_their_messages(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    floors = make_floors(engine)
    floors.tick()
    forgotten, message_id = open_sender(engine, connect)
    floors.tick()
    floors.lose_patience()
    floors.keeper.passed.clear()
    forgotten.execute("commit")
    floors.tick()

    assert found_above(engine) == []
    assert floors.keeper.sweep() == 1
    assert delivered(engine) == [message_id]


def test_floors_go_back_once_and_rise_again(engine: Engine, make_floors: MakeFloors, connect: Connect) -> None:
    floors = make_floors(engine)
    floors.tick()
    forgotten, _ = open_sender(engine, connect)
    floors.tick()
    floors.lose_patience()
    passed_at = floors.at()
    forgotten.execute("rollback")
    floors.tick(1)
    assert floors.at() < passed_at

    floors.tick()

    assert floors.at() > passed_at


def test_a_passed_sender_may_still_be_prepared(engine: Engine, make_floors: MakeFloors, connect: Connect) -> None:
    floors = make_floors(engine)
    floors.tick()
    forgotten, message_id = open_sender(engine, connect)
    floors.tick()
    floors.lose_patience()
    name = f"passed {engine.queue}"
    forgotten.execute(sql.SQL("prepare transaction {}").format(name))
    floors.tick()
    engine.connection.execute(sql.SQL("commit prepared {}").format(name))
    floors.tick(1)

    assert delivered(engine) == [message_id]


def test_several_passed_senders_end_one_by_one(engine: Engine, make_floors: MakeFloors, connect: Connect) -> None:
    floors = make_floors(engine)
    floors.tick()
    first, first_id = open_sender(engine, connect)
    floors.tick()
    floors.lose_patience()
    second, second_id = open_sender(engine, connect)
    floors.tick()
    floors.lose_patience()
    for session, message_id in ((second, second_id), (first, first_id)):
        session.execute("commit")
        floors.tick()
        assert delivered(engine) == [message_id]


def test_a_new_leader_knows_nothing_of_passed_senders_and_begins_below_them(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    old = make_floors(engine)
    old.tick()
    forgotten, message_id = open_sender(engine, connect)
    old.tick()
    old.lose_patience()
    high = old.at()
    old.keeper.resign()

    new = make_floors(engine)
    new.tick()

    assert new.at() < high
    forgotten.execute("commit")
    new.tick()
    assert delivered(engine) == [message_id]


def test_a_leader_kept_out_for_a_moment_remembers_whom_it_passed(
    engine: Engine, make_floors: MakeFloors, connect: Connect
) -> None:
    """A follower asks who leads and holds the lock for that instant; the leader only skips a step."""
    floors = make_floors(engine)
    floors.tick()
    forgotten, message_id = open_sender(engine, connect)
    floors.tick()
    floors.lose_patience()
    follower = connect()
    follower.execute("begin")
    follower.execute("select signalbox.take_lead(gen_random_uuid())")
    assert not floors.tick(1)
    follower.execute("commit")

    forgotten.execute("commit")
    floors.tick()

    assert delivered(engine) == [message_id]


def test_one_process_leads_and_the_others_follow(engine: Engine, make_floors: MakeFloors) -> None:
    leader, follower = make_floors(engine), make_floors(engine)
    assert leader.tick()
    at = leader.at()

    assert not follower.tick()

    assert leader.at() == at
    assert follower.keeper.sweep() == 0
    leader.keeper.resign()
    assert follower.tick()
    assert not leader.tick()


def test_a_leader_whose_term_ran_out_moves_nothing(engine: Engine, make_floors: MakeFloors) -> None:
    floors = make_floors(engine)
    floors.tick()
    at = floors.at()
    engine.connection.execute("update signalbox.upkeep_leader set expires_at = clock_timestamp()")
    keeper = floors.keeper

    for step in ("advance_floor(%s, 9e15::bigint, array[%s])", "lower_floors(%s, %s)"):
        assert engine.value(f"select signalbox.{step}", keeper.token, engine.queue_id) is None
    assert engine.rows("select * from signalbox.mark_floor(%s)", keeper.token) == []
    assert engine.value("select signalbox.sweep_floors(%s)", keeper.token) is None
    assert floors.at() == at


def test_a_restored_dump_has_floors_above_its_tickets_until_the_first_election(
    engine: Engine, make_floors: MakeFloors
) -> None:
    """A dump's rows are of its snapshot, its sequences of the moment they were read."""
    old = make_floors(engine)
    old.tick()
    message_id = engine.send("in the dump")
    set_floor(engine, offset_seconds=5)
    assert found_above(engine) == []
    old.keeper.resign()

    make_floors(engine).tick(1)

    assert delivered(engine) == [message_id]


def test_the_sweep_finds_what_lies_below_a_floor_and_says_so(engine: Engine, make_floors: MakeFloors) -> None:
    floors = make_floors(engine)
    floors.tick()
    said: list[str] = []
    floors.keeper.connection.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
    message_id = engine.send("lost")
    set_floor(engine, offset_seconds=5)
    assert found_above(engine) == []

    assert floors.keeper.sweep() == 1

    assert len(said) == 1
    assert f"queue {engine.queue_id} lay below its claim floor" in said[0]
    assert delivered(engine) == [message_id]
    assert floors.keeper.sweep() == 0


def test_floors_are_ignored_when_upkeep_has_been_gone_for_ten_seconds(
    engine: Engine, make_floors: MakeFloors, observer: psycopg.Connection[Any]
) -> None:
    floors = make_floors(engine)
    floors.tick()
    message_id = engine.send("sent below an unguarded floor")
    set_floor(engine, offset_seconds=5)
    assert found_above(engine) == []

    observer.execute(
        "select setval('signalbox.clock', (extract(epoch from clock_timestamp()) * 1000000)::bigint - 11000000)"
    )

    assert delivered(engine) == [message_id]


def test_a_floor_that_was_never_set_keeps_nothing_back(engine: Engine, make_floors: MakeFloors) -> None:
    make_floors(engine).tick()
    engine.connection.execute(
        "do $$ declare f regclass; begin for f in select floor from signalbox.claim_floor where queue_id = "
        f"{engine.queue_id} loop execute format('alter sequence %s restart', f); end loop; end $$"
    )

    message_id = engine.send("first")

    assert delivered(engine) == [message_id]


@pytest.fixture
def outsider(connect: Connect, observer: psycopg.Connection[Any]) -> Any:
    """A session whose role may use the tables and may not read the sequences of floors."""
    observer.execute("create role outsider")
    observer.execute("grant usage on schema signalbox to outsider")
    observer.execute("grant select, insert, update, delete on all tables in schema signalbox to outsider")
    observer.execute("grant usage on sequence signalbox.message_id to outsider")
    session = connect()
    session.execute("set role outsider")
    yield session
    session.close()
    observer.execute("drop owned by outsider")
    observer.execute("drop role outsider")


def test_a_role_that_cannot_see_the_floors_claims_from_the_start(
    engine: Engine, make_floors: MakeFloors, outsider: psycopg.Connection[Any]
) -> None:
    make_floors(engine).tick()
    stranger = engine.on(outsider)

    message_id = stranger.send("from outside")

    assert delivered(stranger) == [message_id]


def test_a_keeper_of_any_role_sees_every_writer(
    engine: Engine, connect: Connect, outsider: psycopg.Connection[Any]
) -> None:
    """pg_locks hides nothing; pg_stat_activity hides other roles' transactions, and a floor by it would pass them."""
    sender, _ = open_sender(engine, connect)

    (locks,) = outsider.execute("select signalbox.ticket_writers()").fetchone() or ([],)
    (transactions,) = outsider.execute(
        "select count(xact_start) from pg_stat_activity where pid = %s", [sender.info.backend_pid]
    ).fetchone() or (0,)

    assert len(locks) == 1
    assert transactions == 0


def test_keepers_moving_floors_while_all_verbs_run_lose_nothing(
    engine: Engine, connect: Connect, make_floors: MakeFloors
) -> None:
    """Senders of every kind of haste, two rivals for the lead, and a consumer: all that was sent arrives."""
    rivals = [make_floors(engine), make_floors(engine)]
    consumer = engine.on(connect())
    sent, received = set(), set()
    slow: list[tuple[psycopg.Connection[Any], int]] = []
    for round_number in range(40):
        slow.append(open_sender(engine, connect, f"slow {round_number}"))
        sent.add(engine.send("quick"))
        for floors in rivals:
            floors.tick(2, seconds=2.0)
        if round_number % 3 == 2:
            session, message_id = slow.pop(0)
            session.execute("commit")
            session.close()
            sent.add(message_id)
        if round_number % 10 == 9:
            next(rival for rival in rivals if rival.keeper.leading).keeper.resign()
        received.update(delivered(consumer))
    for session, message_id in slow:
        session.execute("commit")
        session.close()
        sent.add(message_id)

    def arrived() -> bool:
        for floors in rivals:
            floors.tick(1)
        received.update(delivered(consumer))
        return received == sent

    until(arrived, "every message")
    assert [rival.keeper.sweep() for rival in rivals] == [0, 0]


def test_a_keeper_gives_every_head_a_floor_and_removes_duplicates(engine: Engine, connect: Connect) -> None:
    """Two first senders of a priority both note it, since neither waits for the other."""
    first, second = engine.on(connect()), engine.on(connect())
    for sender in (first, second):
        sender.connection.execute("begin")
        sender.send("x", priority=7)
    for sender in (first, second):
        sender.connection.execute("commit")
    heads = "select kind, floor is not null from signalbox.claim_floor where queue_id = %s order by kind"
    assert [row[0] for row in engine.rows(heads, engine.queue_id)] == [-2, -1, 0, 7, 7]
    assert len(delivered(engine)) == 2

    keeper = FloorKeeper(connect(), ttl_seconds=TERM_SECONDS)
    engine.connection.execute("update signalbox.upkeep_leader set expires_at = '-infinity'")
    keeper.tick(0.0, [engine.queue_id])
    keeper.resign()

    assert engine.rows(heads, engine.queue_id) == [(-2, True), (-1, True), (0, True), (7, True)]
