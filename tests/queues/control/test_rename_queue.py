"""A queue gets another name: the old one works for a while, then says the new one; what names it by name follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]


def rename(engine: Engine, grace_seconds: float = 3600) -> Engine:
    """The queue by its new name."""
    new_name = f"{engine.queue}.new"
    assert engine.value("select signalbox.rename_queue(%s, %s, %s)", engine.queue, new_name, grace_seconds) == (
        engine.queue_id
    )
    return Engine(engine.connection, new_name, engine.queue_id)


def refusal(engine: Engine, statement: str, *parameters: Any) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as refused:
        engine.value(statement, *parameters)
    return refused.value


def test_all_that_is_in_it_stays_in_it(engine: Engine) -> None:
    engine.die("dead")
    engine.send("leased")
    handle = engine.receive_one()[1]
    engine.send("ready")
    before = engine.counted()

    renamed = rename(engine)

    assert renamed.counted() == renamed.recounted() == before
    assert renamed.ack(handle) == [True]
    assert renamed.receive_one()[3] == "ready"


def test_the_old_name_works_for_those_who_send_and_receive(engine: Engine) -> None:
    new = rename(engine)

    ids = [engine.send("one", priority=3, delay_seconds=0, group_id="g", deduplication_id="d")]
    assert engine.send("one", priority=3, delay_seconds=0, group_id="g", deduplication_id="d") == ids[0]
    payloads = [Jsonb(n) for n in range(2)]
    ids += [row[0] for row in engine.rows("select signalbox.send_batch(%s, %s::jsonb[])", engine.queue, payloads)]
    each = "select message_id from signalbox.send_each(%s, %s::jsonb[])"
    ids += [row[0] for row in engine.rows(each, engine.queue, payloads)]
    engine.value("select signalbox.announce_consumer(%s, 'somebody')", engine.queue)

    received = engine.receive(10, consumer="somebody")
    assert sorted(row[0] for row in received) == sorted(ids)
    assert all(engine.ack(*[row[1] for row in received]))
    assert new.counted() == new.recounted() == (0, 0, 0, 0, 0)
    consumers = "select consumer from signalbox.consumer where queue_id = %s"
    assert new.rows(consumers, new.queue_id) == [("somebody",)]


def test_what_receives_by_the_old_name_says_what_is_wrong_with_the_rest(engine: Engine) -> None:
    rename(engine)

    error = refusal(engine, "select signalbox.receive(%s, 0)", engine.queue)

    assert (error.sqlstate, "max_messages" in str(error)) == ("SB400", True)


def test_waiting_for_news_by_the_old_name_hears_them(engine: Engine, connect: Connect) -> None:
    new = rename(engine)
    listener = connect()
    listener.execute("listen signalbox_ready")
    since = engine.value("select pg_current_snapshot()::text")
    new.send("news")

    engine.value("select signalbox.announce(%s::pg_snapshot)::text", since)

    heard = next(iter(listener.notifies(timeout=60, stop_after=1))).payload.split(",")
    assert {engine.queue, new.queue} <= set(heard)
    assert engine.rows("select signalbox.receivable_queues(%s)", [engine.queue]) == [(engine.queue,)]
    assert engine.value("select signalbox.see_consumers(%s, %s)", [engine.queue], ["waiter"]) == 1


def test_users_of_the_old_name_are_listed(engine: Engine) -> None:
    rename(engine)
    used = "select pg_sequence_last_value(last_used) from signalbox.queue_alias where name = %s"
    assert not engine.value(used, engine.queue)

    engine.send("by the old name")

    assert engine.value(f"select ({used}) > extract(epoch from now() - interval '1 hour')", engine.queue)


def test_after_the_grace_the_old_name_says_the_new_one(engine: Engine) -> None:
    new = rename(engine, grace_seconds=0)

    for statement in (
        "select signalbox.send(%s, '1')",
        "select signalbox.receive(%s)",
        "select signalbox.send_each(%s, '{1}')",
        "select signalbox.create_queue(%s)",
        "select signalbox.declare_queue(%s)",
        "select signalbox.purge(%s)",
    ):
        error = refusal(engine, statement, engine.queue)
        assert error.sqlstate == "SB404"
        assert f"it is called '{new.queue}'" in str(error)
        assert error.diag.column_name == "queue"


def test_configuring_by_the_old_name_says_the_new_one(engine: Engine) -> None:
    new = rename(engine)

    error = refusal(engine, "select signalbox.configure_queue(%s, '{\"paused\": true}')", engine.queue)

    assert f"it is called '{new.queue}'" in str(error)


def test_an_application_that_makes_its_queue_at_its_start_finds_it(engine: Engine) -> None:
    rename(engine)

    assert engine.value("select signalbox.create_queue(%s)", engine.queue) == engine.queue_id
    assert engine.value("select signalbox.declare_queue(%s)", engine.queue) == engine.queue_id
    error = refusal(engine, "select signalbox.create_queue(%s, '{\"max_receives\": 77}')", engine.queue)
    assert error.sqlstate == "SB400"


def test_an_old_name_is_reserved_until_released(engine: Engine) -> None:
    rename(engine, grace_seconds=0)
    assert refusal(engine, "select signalbox.create_queue(%s)", engine.queue).sqlstate == "SB404"

    assert engine.value("select signalbox.free_queue_name(%s)", engine.queue)
    assert not engine.value("select signalbox.free_queue_name(%s)", engine.queue)

    assert engine.value("select signalbox.create_queue(%s)", engine.queue) != engine.queue_id


def test_a_queue_may_be_renamed_back_and_on(engine: Engine) -> None:
    new = rename(engine)
    newest = rename(new)
    assert engine.send("by the first name") in {row[0] for row in newest.receive()}

    newest.value("select signalbox.rename_queue(%s, %s)", newest.queue, engine.queue)

    names = engine.rows("select name from signalbox.queue_alias where queue_id = %s order by 1", engine.queue_id)
    assert names == [(new.queue,), (newest.queue,)]
    engine.send("by its own name")
    assert newest.receive()


@pytest.mark.parametrize(
    ("new_name", "said"),
    [
        ("", "a queue name has 1 to 90"),
        ("bad name", "a queue name has 1 to 90"),
        ("x" * 91, "a queue name has 1 to 90"),
        (None, "a queue name has 1 to 90"),
    ],
)
def test_bad_names_are_refused(engine: Engine, new_name: str | None, said: str) -> None:
    error = refusal(engine, "select signalbox.rename_queue(%s, %s)", engine.queue, new_name)

    assert (error.sqlstate, error.diag.column_name) == ("SB400", "new_name")
    assert said in str(error)


def test_names_that_are_taken_are_refused(engine: Engine, make_engine: MakeEngine) -> None:
    other = make_engine()
    rename(other)

    for taken in (engine.queue, f"{other.queue}.new", other.queue):
        error = refusal(engine, "select signalbox.rename_queue(%s, %s)", engine.queue, taken)
        assert (error.sqlstate, error.diag.column_name) == ("SB400", "new_name")
    assert refusal(engine, "select signalbox.rename_queue('no such queue', 'x')").sqlstate == "SB404"
    error = refusal(engine, "select signalbox.rename_queue(%s, 'free', -1)", engine.queue)
    assert error.diag.column_name == "grace_seconds"


def test_its_dead_letters_stay_together(engine: Engine) -> None:
    engine.die("before")
    new = rename(engine)
    new.die("after")

    holders = "select distinct q.name from signalbox.dead_letter d join signalbox.queue q using (queue_id)"
    assert new.rows(f"{holders} where d.source_queue_id = %s", new.queue_id) == [(f"{engine.queue}-dlq",)]


def test_a_dead_letter_queue_that_is_renamed_keeps_its_queues(engine: Engine, make_engine: MakeEngine) -> None:
    engine.die("before")
    other = make_engine(dead_letter_queue=f"{engine.queue}-dlq")

    engine.value("select signalbox.rename_queue(%s, %s)", f"{engine.queue}-dlq", f"{engine.queue}-failed")
    engine.die("after")
    other.die("elsewhere")

    holders = "select q.name, count(*) from signalbox.dead_letter d join signalbox.queue q using (queue_id)"
    found = engine.rows(f"{holders} where d.source_queue_id = any(%s) group by 1", [engine.queue_id, other.queue_id])
    assert found == [(f"{engine.queue}-failed", 3)]
    # A program that still uses the old name means the renamed queue.
    third = make_engine(dead_letter_queue=f"{engine.queue}-dlq")
    third.die("by the old name")
    assert third.rows(f"{holders} where d.source_queue_id = %s group by 1", third.queue_id) == [
        (f"{engine.queue}-failed", 1)
    ]


def test_bindings_follow_and_can_be_made_by_the_old_name(engine: Engine) -> None:
    exchange = f"exchange-{engine.queue}"
    engine.value("select signalbox.bind_queue(%s, 'fanout', 'a', %s)", exchange, engine.queue)
    new = rename(engine)
    engine.value("select signalbox.bind_queue(%s, 'fanout', 'b', %s)", exchange, engine.queue)

    assert engine.rows("select distinct name from signalbox.route(%s, 'a')", exchange) == [(new.queue,)]


def test_a_queue_that_is_deleted_takes_its_old_names_along(engine: Engine) -> None:
    new = rename(engine)
    new.value("select signalbox.configure_queue(%s, '{\"closed\": true}')", new.queue)

    assert new.value("select signalbox.delete_queue(%s, '{}')", new.queue) == new.queue_id
    assert new.value("select count(*) from pg_class where relname ~ %s", f"^alias_used_{new.queue_id}_") == 0
    assert engine.value("select signalbox.create_queue(%s)", engine.queue) > new.queue_id


def test_a_sender_that_found_the_old_name_before_the_rename_sends(engine: Engine, connect: Connect) -> None:
    slow = engine.on(connect())
    slow.connection.execute("begin")
    first = slow.send("before the rename")

    new = rename(engine)
    second = slow.send("after the rename")
    slow.connection.execute("commit")

    assert {row[0] for row in new.receive(10)} == {first, second}
