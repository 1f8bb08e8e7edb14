"""Verbs never weaken the promise of a commit, and a claim counts only when it commits.

Hazards 11 and 12, invariant 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.naive import NaiveVerbs
from tests.streams import make_log

Connect = Callable[..., psycopg.Connection[Any]]

SHOW = "show synchronous_commit"
OFF = "perform set_config('synchronous_commit', 'off', true);"


def commit_of_a_caller(caller: Engine) -> str:
    """Durability of a transaction that writes of its own, sends, receives and acks."""
    caller.connection.execute("begin")
    caller.value("select pg_current_xact_id()")
    caller.send("x")
    handle = caller.receive_one()[1]
    caller.ack(handle)
    setting = str(caller.value(SHOW))
    caller.connection.execute("commit")
    return setting


def test_a_caller_that_receives_keeps_its_durable_commit(engine: Engine, connect: Connect) -> None:
    assert commit_of_a_caller(engine.on(connect())) == "on"


def test_a_verb_that_always_claims_asynchronously_would_weaken_its_caller(
    engine: Engine, connect: Connect, naive: NaiveVerbs
) -> None:
    naive.install("receive", {"if v_asynchronous then": f"{OFF} if false then"})

    assert commit_of_a_caller(naive.engine(engine, connect())) == "off"


def test_an_asynchronous_claim_ends_with_its_transaction(engine: Engine) -> None:
    engine.send("x")
    engine.connection.execute("begin")
    engine.receive_one(durable=False)
    assert engine.value(SHOW) == "off"
    engine.connection.execute("commit")

    assert engine.value(SHOW) == "on"
    engine.send("y")
    engine.receive_one(durable=False)
    assert engine.value(SHOW) == "on"


def test_an_asynchronous_claim_does_not_weaken_what_was_written_before_it(engine: Engine, connect: Connect) -> None:
    caller = engine.on(connect())
    caller.connection.execute("begin")
    caller.send("x")
    caller.receive_one(durable=False)
    setting = caller.value(SHOW)
    caller.connection.execute("commit")

    assert setting == "on"


LATER: dict[str, Callable[[Engine, str], object]] = {
    "send": lambda caller, _: caller.send("y"),
    "send_batch": lambda caller, _: caller.value("select signalbox.send_batch(%s, '{1,2}')", caller.queue),
    "ack": lambda caller, handle: caller.ack(handle),
    "ack of several": lambda caller, handle: caller.ack(handle, handle),
    "nack": lambda caller, handle: caller.nack(handle),
    "create_queue": lambda caller, _: caller.value("select signalbox.create_queue(%s)", f"{caller.queue}-other"),
    "purge": lambda caller, _: caller.value("select signalbox.purge(%s)", caller.queue),
    "a row of the audit": lambda caller, _: caller.value("select signalbox.record_audit('shop.close')"),
    "bind_queue": lambda caller, _: caller.value("select signalbox.bind_queue('e', 'direct', 'k', %s)", caller.queue),
    "restore": lambda caller, _: caller.value("select signalbox.restore(signalbox.open_trash_batch(60)) is not null"),
    "a durable claim": lambda caller, _: caller.receive(),
    "another asynchronous claim": lambda caller, _: caller.receive(durable=False),
}


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("usual", ["on", "local", "off"])
def test_a_verb_after_an_asynchronous_claim_commits_as_it_would_without_it(
    engine: Engine, connect: Connect, later: str, usual: str
) -> None:
    engine.send("x")
    engine.send("what is purged")
    caller = engine.on(connect())
    caller.connection.execute(f"set synchronous_commit = {usual}".encode())
    caller.connection.execute("begin")
    handle = caller.receive_one(durable=False)[1]
    assert caller.value(SHOW) == "off"
    LATER[later](caller, handle)
    setting = caller.value(SHOW)
    caller.connection.execute("commit")

    assert setting == usual


@pytest.mark.parametrize("verb", ["append", "append_batch", "commit_offset"])
def test_a_stream_after_an_asynchronous_claim_commits_durably(engine: Engine, connect: Connect, verb: str) -> None:
    log = make_log(connect(), partitions=1)
    log.group()
    log.append("a")
    (row,) = log.read()
    engine.send("x")
    caller = engine.on(log.connection)
    caller.connection.execute("begin")
    caller.receive_one(durable=False)
    if verb == "append":
        log.append("b")
    elif verb == "append_batch":
        log.value("select count(*) from signalbox.append_batch(%s, '{1}')", log.name)
    else:
        assert log.commit(row)
    setting = caller.value(SHOW)
    caller.connection.execute("commit")

    assert setting == "on"


def test_what_a_session_sets_cannot_make_a_commit_weaker(engine: Engine) -> None:
    for forged in ("off", "nonsense", "on"):
        engine.value("select set_config('signalbox.durable_commit', %s, false)", forged)
        engine.send("x")
        assert engine.value(SHOW) == "on"


def test_the_count_of_a_claim_is_in_the_commit_of_the_claim(engine: Engine) -> None:
    """A delivery and its counter are lost or kept together, whatever a crash leaves of the log."""
    engine.send("x")
    engine.connection.execute("begin")
    engine.receive_one()
    (claim,) = engine.rows("select xmin::text::bigint from signalbox.lease where queue_id = %s", engine.queue_id)
    deltas = engine.rows(
        "select txid & 4294967295 from signalbox.counter_delta where queue_id = %s and event = 3",
        engine.queue_id,
    )
    engine.connection.execute("commit")

    assert deltas == [claim]


def test_a_claim_that_is_rolled_back_is_no_delivery(engine: Engine, connect: Connect) -> None:
    message_id = engine.send("x")
    claimer = engine.on(connect())
    for _ in range(3):
        with claimer.connection.transaction(force_rollback=True):
            assert claimer.receive_one()[2] == 1

    _, handle, receive_count, *_ = engine.receive_one()

    assert receive_count == 1
    assert engine.ack(handle) == [True]
    assert engine.value("select totals[3] from signalbox.queue_totals(array[%s])", engine.queue_id) == 1
    assert engine.value(
        "select receive_counts from signalbox.settled where queue_id = %s and %s = any(message_ids)",
        engine.queue_id,
        message_id,
    ) == [1]


def test_work_inside_the_claim_never_dies_so_a_claim_must_commit_first(make_engine: Callable[..., Engine]) -> None:
    """Reason to commit `receive` before the work starts: a rollback takes the attempt back."""
    engine = make_engine(max_receives=2)
    engine.send("poison")
    for _ in range(5):
        with engine.connection.transaction(force_rollback=True):
            engine.nack(engine.receive_one()[1], delay_seconds=0)
    assert engine.recounted() == (1, 0, 0, 0, 0)

    for _ in range(2):
        engine.nack(engine.receive_one()[1], delay_seconds=0)

    assert engine.recounted() == (0, 0, 0, 1, 0)


@pytest.mark.parametrize("killed_before", ["commit", "anything"])
def test_a_claim_whose_session_is_killed_is_no_delivery(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], killed_before: str
) -> None:
    engine.send("x")
    claimer = engine.on(connect())
    claimer.connection.execute("begin")
    claimer.receive_one()
    if killed_before == "commit":
        claimer.send("y")
    observer.execute("select pg_terminate_backend(%s, 60000)", [claimer.connection.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        claimer.connection.execute("commit")

    assert [(row[2], row[3]) for row in engine.receive(10)] == [(1, "x")]
    assert engine.counted() == engine.recounted() == (0, 0, 1, 0, 0)
