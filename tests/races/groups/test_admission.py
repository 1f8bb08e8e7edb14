"""Limits under concurrent sends: no send waits for another's commit, and no limit is exceeded.

What is admitted counts for everybody from that moment on, until its transaction is rolled back and that is known.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.naive import NaiveVerbs
from tests.races.sessions import finish, start, until_no_vacuum_writes, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]


def send(engine: Engine) -> str:
    """'sent', or the reason of the refusal. In a transaction, a refusal undoes no more than itself."""
    try:
        with engine.connection.transaction():
            engine.send("body")
    except psycopg.Error as error:
        assert error.sqlstate == "SB429", error
        return str(json.loads(error.diag.message_detail or "")["reason"])
    return "sent"


def evaluate(engine: Engine) -> None:
    until_no_vacuum_writes(engine.connection)  # a transaction of anybody's is waited for before anything is given back
    engine.rows(
        "select signalbox._evaluate(counter_id) from signalbox.admission_counter where queue_id = %s",
        engine.queue_id,
    )


def held(engine: Engine) -> int:
    return int(sum(engine.recounted()[:3]))


@pytest.fixture
def opened(connect: Connect) -> Callable[[Engine], Engine]:
    """Engine for the same queue in a transaction that stays open."""

    def _open(engine: Engine) -> Engine:
        session = engine.on(connect())
        session.connection.execute("begin")
        return session

    return _open


def test_senders_do_not_wait_for_each_others_commits(
    make_engine: MakeEngine, connect: Connect, opened: Callable[[Engine], Engine]
) -> None:
    engine = make_engine(
        max_backlog_messages=100, max_backlog_bytes=10_000, max_oldest_age_seconds=60, publish_rate_per_second=1000
    )
    first = opened(engine)
    assert send(first) == "sent"
    second = engine.on(connect(options="-c lock_timeout=1"))  # the shortest there is: any wait would be an error

    assert [send(second) for _ in range(20)] == ["sent"] * 20
    evaluate(second)
    first.connection.execute("rollback")


LOCK = "perform pg_advisory_xact_lock(hashtext('signalbox.admission_counter'), p_counter_id);"
READ = "v_admitted := signalbox._read_counter(v_counter.admitted);"
BARRIER = " perform pg_advisory_lock(4711); perform pg_advisory_unlock(4711);"


def admitted_by_two(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], naive: NaiveVerbs, changes: dict[str, str]
) -> int:
    """Return the admission counter after two senders, the first held between its read and its write."""
    naive.install("_reserve", changes | {READ: READ + BARRIER})
    naive.install("_admit", {})
    naive.install("_send_message", {})
    naive.install("send", {})
    holder, sessions = connect(), [naive.engine(engine, connect()) for _ in range(2)]
    holder.execute("select pg_advisory_lock(4711)")
    calls = []
    for session in sessions:
        calls.append(start(session.send, "body"))
        until_waiting(observer, session.connection)
    holder.execute("select pg_advisory_unlock(4711)")
    for call in calls:
        finish(call)
    return int(
        engine.value(
            "select signalbox._read_counter(admitted) from signalbox.admission_counter where queue_id = %s",
            engine.queue_id,
        )
    )


def test_an_admission_counter_is_read_and_written_by_one_at_a_time(
    make_engine: MakeEngine, connect: Connect, observer: psycopg.Connection[Any], naive: NaiveVerbs
) -> None:
    engine = make_engine(max_backlog_messages=100)

    assert admitted_by_two(engine, connect, observer, naive, {}) == 2


def test_without_the_admission_counters_lock_one_of_two_would_be_forgotten(
    make_engine: MakeEngine, connect: Connect, observer: psycopg.Connection[Any], naive: NaiveVerbs
) -> None:
    engine = make_engine(max_backlog_messages=100)

    assert admitted_by_two(engine, connect, observer, naive, {LOCK: ""}) == 1


def test_what_an_open_transaction_has_sent_counts_already(
    make_engine: MakeEngine, opened: Callable[[Engine], Engine]
) -> None:
    engine = make_engine(max_backlog_messages=5)
    first = opened(engine)
    assert [send(first) for _ in range(5)] == ["sent"] * 5

    for _ in range(4):  # however often and late the limits are read
        assert send(engine) == "backlog"
        evaluate(engine)
    first.connection.execute("commit")
    assert send(engine) == "backlog"
    assert held(engine) == 5


def test_without_what_is_under_way_the_limit_would_be_exceeded(
    make_engine: MakeEngine, opened: Callable[[Engine], Engine]
) -> None:
    """Number that the counters alone would admit: they see nothing of an open transaction."""
    engine = make_engine(max_backlog_messages=5)
    first = opened(engine)
    for _ in range(5):
        send(first)
    engine.rows(  # the admission counter forgets what is under way, as a bucket filled from the counters would
        "select setval(base, signalbox._read_counter(admitted)) from signalbox.admission_counter where queue_id = %s",
        engine.queue_id,
    )

    assert send(engine) == "sent"
    first.connection.execute("commit")
    assert held(engine) == 6


def test_a_rollback_gives_back_though_others_stay_open(
    make_engine: MakeEngine, opened: Callable[[Engine], Engine]
) -> None:
    """Lost sends count until every transaction that was open at the same time has ended, and no longer."""
    engine = make_engine(max_backlog_messages=4)
    lost, stays = opened(engine), opened(engine)
    assert [send(lost), send(lost), send(stays)] == ["sent"] * 3
    lost.connection.execute("rollback")
    evaluate(engine)
    evaluate(engine)
    assert [send(engine), send(engine)] == ["sent", "backlog"]  # not known yet: a transaction of that time is open

    stays.connection.execute("commit")
    for _ in range(3):
        evaluate(engine)

    assert [send(engine), send(engine), send(engine)] == ["sent", "sent", "backlog"]
    assert held(engine) == 4


def test_a_savepoint_rolled_back_gives_back_when_its_transaction_ends(
    make_engine: MakeEngine, opened: Callable[[Engine], Engine]
) -> None:
    engine = make_engine(max_backlog_messages=2)
    session = opened(engine)
    session.connection.execute("savepoint before")
    assert [send(session), send(session)] == ["sent", "sent"]
    session.connection.execute("rollback to before")
    assert send(session) == "backlog"
    session.connection.execute("commit")
    for _ in range(3):
        evaluate(engine)

    assert [send(engine), send(engine), send(engine)] == ["sent", "sent", "backlog"]


def test_a_rollback_after_a_restore_gives_back(
    make_engine: MakeEngine, opened: Callable[[Engine], Engine], connect: Connect
) -> None:
    """The dump's transaction ids lie far ahead of those of its new home."""
    engine = make_engine(max_backlog_messages=2)
    ahead = "select setval(mark_xid, %s), setval(last_xid, %s) from signalbox.admission_counter where queue_id = %s"
    engine.rows(ahead, 10**12, 10**12, engine.queue_id)
    restoring = opened(engine)
    restoring.value("select signalbox._rebase_counters()")  # the other queues' counters come back with the rollback
    restoring.connection.execute("rollback")
    evaluate(engine)
    lost = opened(engine)
    assert [send(lost), send(lost)] == ["sent", "sent"]
    lost.connection.execute("rollback")
    for _ in range(3):
        evaluate(engine)

    assert [send(engine), send(engine), send(engine)] == ["sent", "sent", "backlog"]


def test_senders_in_crowds_never_exceed_the_limit(make_engine: MakeEngine, connect: Connect) -> None:
    """Commits, rollbacks and acks in any order: what is held never exceeds the limit, and it is reached."""
    engine = make_engine(max_backlog_messages=20)
    senders = [engine.on(connect()) for _ in range(4)]

    def work(sender: Engine, turn: int) -> int:
        sent = 0
        for number in range(60):
            sender.connection.execute("begin")
            outcomes = [send(sender) for _ in range(1 + (number + turn) % 3)]
            keep = (number + turn) % 4 > 0
            sender.connection.execute("commit" if keep else "rollback")
            sent += outcomes.count("sent") if keep else 0
            assert held(sender) <= 20
            if number % 5 == turn:
                sender.ack(*[row[1] for row in sender.receive(3)] or ["0.0.00000000-0000-0000-0000-000000000000"])
        return sent

    calls = [start(work, sender, turn) for turn, sender in enumerate(senders)]
    assert sum(finish(call) for call in calls) >= 20
    for _ in range(3):
        evaluate(engine)
    while send(engine) == "sent":
        pass
    assert held(engine) == 20
    assert engine.counted() == engine.recounted()


def test_a_rate_is_kept_to_the_message_by_many_senders(make_engine: MakeEngine, connect: Connect) -> None:
    """A bucket of fifty that refills with one message in a hundred seconds."""
    engine = make_engine(publish_rate_per_second=50)
    engine.rows("select signalbox.configure_queue(%s, '{\"publish_rate_per_second\": 0.01}')", engine.queue)
    bucket = (
        "select setval(next_free, signalbox._now_ns() + 50000000000000)"
        " from signalbox.admission_counter where queue_id = %s"
    )
    engine.rows(bucket, engine.queue_id)  # from the future, as when a clock was set back: it counts as now
    assert send(engine) == "rate"
    engine.rows("select setval(next_free, 1) from signalbox.admission_counter where queue_id = %s", engine.queue_id)
    senders = [engine.on(connect()) for _ in range(4)]

    calls = [start(lambda sender=sender: [send(sender) for _ in range(5)]) for sender in senders]
    outcomes = [outcome for call in calls for outcome in finish(call)]

    assert outcomes.count("sent") == 1
    assert outcomes.count("rate") == 19


def test_tokens_of_a_rolled_back_send_come_back_with_time(
    make_engine: MakeEngine, opened: Callable[[Engine], Engine]
) -> None:
    engine = make_engine(publish_rate_per_second=0.01)
    session = opened(engine)
    send(session)
    session.connection.execute("rollback")
    assert send(engine) == "rate"
    engine.rows(
        "select setval(next_free, signalbox._read_counter(next_free) - 100000000000)"
        " from signalbox.admission_counter where queue_id = %s",
        engine.queue_id,
    )

    assert send(engine) == "sent"


def test_a_sender_that_is_cancelled_leaves_the_admission_counter_free(
    make_engine: MakeEngine, connect: Connect
) -> None:
    engine = make_engine(max_backlog_messages=10)
    holder, sender = connect(), engine.on(connect())
    (counter_id,) = engine.rows(
        "select counter_id from signalbox.admission_counter where queue_id = %s", engine.queue_id
    )[0]
    lock = "hashtext('signalbox.admission_counter'), %s"
    holder.execute(f"select pg_advisory_lock({lock})", [counter_id])
    sender.connection.execute("set statement_timeout = '50ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        sender.send("waits for the holder, and gives up")
    holder.execute(f"select pg_advisory_unlock({lock})", [counter_id])

    assert send(engine) == "sent"
    locks = "select count(*) from pg_locks where locktype = 'advisory' and objid = %s and pid = %s"
    assert engine.value(locks, counter_id, sender.connection.info.backend_pid) == 0


def test_refusals_are_counted_though_they_roll_back(
    make_engine: MakeEngine, opened: Callable[[Engine], Engine]
) -> None:
    engine = make_engine(max_backlog_messages=1)
    session = opened(engine)
    assert [send(session) for _ in range(4)] == ["sent", "backlog", "backlog", "backlog"]
    session.connection.execute("rollback")

    counter = (
        "select signalbox._read_counter(counter) from signalbox.refusal where queue_id = %s and reason = 'backlog'"
    )
    assert engine.value(counter, engine.queue_id) == 3


def test_two_claims_at_once_exceed_what_may_be_in_flight_by_what_they_cannot_see(
    make_engine: MakeEngine, opened: Callable[[Engine], Engine]
) -> None:
    """The bound: each claim sees all that was committed before it began."""
    engine = make_engine(max_in_flight=3)
    for number in range(10):
        engine.send(number)
    first, second = opened(engine), opened(engine)

    assert (len(first.receive(10)), len(second.receive(10))) == (3, 3)
    first.connection.execute("commit")
    second.connection.execute("commit")
    assert engine.receive(10) == []


def test_two_queues_made_at_once_are_counted_one_after_the_other(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    tenant = f"of-{engine.queue}"
    engine.connection.execute("insert into signalbox.tenant (name, max_queues) values (%s, 1)", [tenant])
    create = "select signalbox.create_queue(%s, '{}', %s)"
    first, second = engine.on(connect()), engine.on(connect())
    first.connection.execute("begin")
    first.value(create, f"{engine.queue}-a", tenant)
    making = start(second.value, create, f"{engine.queue}-b", tenant)
    until_waiting(observer, second.connection)
    first.connection.execute("commit")

    with pytest.raises(psycopg.Error, match="max_queues"):
        finish(making)


@pytest.mark.parametrize("first", ["the queue", "the quota"])
def test_a_queue_made_while_a_quota_is_set_is_limited(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], first: str
) -> None:
    tenant, queue = f"of-{engine.queue}", f"{engine.queue}-a"
    engine.connection.execute("insert into signalbox.tenant (name) values (%s)", [tenant])
    makes = ("select signalbox.create_queue(%s, '{}', %s)", queue, tenant)
    limits = ("update signalbox.tenant set max_backlog_messages = 1 where name = %s returning 1", tenant)
    one, other = engine.on(connect()), engine.on(connect())
    one.connection.execute("begin")
    one.value(*(makes if first == "the queue" else limits))
    waiting = start(other.value, *(limits if first == "the queue" else makes))
    until_waiting(observer, other.connection)
    one.connection.execute("commit")
    finish(waiting)

    assert engine.value("select admission_flags from signalbox.queue where name = %s", queue) == 1


def test_queues_of_a_tenant_are_made_at_the_same_time(engine: Engine, connect: Connect) -> None:
    """Making a queue does not wait for another while sends are not counted, least of all in the default tenant."""
    first, second = engine.on(connect()), engine.on(connect(options="-c lock_timeout=1"))
    first.connection.execute("begin")
    first.value("select signalbox.create_queue(%s)", f"{engine.queue}-a")

    assert second.value("select signalbox.create_queue(%s)", f"{engine.queue}-b")
    first.connection.execute("rollback")
