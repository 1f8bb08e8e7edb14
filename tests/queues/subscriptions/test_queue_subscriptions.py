"""Subscriptions of queues: copies in the transaction of the send, held copies, circles, and what plain queues pay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine

MakeEngine = Callable[..., Engine]
Connect = Callable[..., psycopg.Connection[Any]]


def subscribe(source: Engine, target: Engine, filter_text: str = "", delay_seconds: float | None = None) -> int:
    names = (source.queue, target.queue, filter_text, delay_seconds)
    return int(source.value("select signalbox.subscribe(%s, %s, %s, %s)", *names))


def pause(source: Engine, target: Engine, paused: bool = True) -> bool:
    return bool(source.value("select signalbox.pause_subscription(%s, %s, %s)", source.queue, target.queue, paused))


def held(source: Engine, target: Engine) -> int:
    listed = "select held from signalbox.queue_subscriptions() where source = %s and target = %s"
    return int(source.value(listed, source.queue, target.queue))


def payloads(engine: Engine) -> list[Any]:
    return [row[3] for row in engine.receive(100)]


def send_batch(engine: Engine, values: list[Any], **columns: list[Any]) -> None:
    names = "".join(f", {name} => %s" for name in columns)
    engine.rows(f"select signalbox.send_batch(%s, %s{names})", engine.queue, [*map(Jsonb, values)], *columns.values())


def feed(engine: Engine) -> None:
    engine.value("select signalbox.feed_queues()")


def test_copies_are_sent_with_the_message_or_not_at_all(make_engine: MakeEngine, connect: Connect) -> None:
    orders, billing, search = make_engine(), make_engine(), make_engine()
    subscribe(orders, billing, "payload.kind:paid attr.region:eu,us")
    subscribe(orders, search)
    undone = orders.on(connect(autocommit=False))
    undone.send({"kind": "paid"}, attributes={"region": "eu"})
    undone.connection.rollback()
    orders.send({"kind": "paid"}, attributes={"region": "eu"}, priority=3, group_id="g", trace_id="t")
    orders.send({"kind": "paid"}, attributes={"region": "asia"})
    send_batch(orders, [{"kind": "paid"}, {"kind": "open"}])
    send_batch(orders, [{"kind": "paid"}], attributes=[Jsonb({"region": "us"})])

    assert len(payloads(orders)) == 5
    assert len(payloads(search)) == 5
    copies = billing.rows("select payload, attributes, priority, group_id from signalbox.receive(%s, 9)", billing.queue)
    assert sorted(copies, key=lambda copy: copy[2]) == [
        ({"kind": "paid"}, {"region": "us"}, 0, None),
        ({"kind": "paid"}, {"region": "eu"}, 3, "g"),
    ]
    assert billing.counted() == billing.recounted()


def test_a_second_send_of_one_deduplication_id_and_a_redrive_send_no_copy(make_engine: MakeEngine) -> None:
    orders, billing = make_engine(), make_engine()
    subscribe(orders, billing)
    orders.send(1, deduplication_id="once")
    orders.send(1, deduplication_id="once")
    orders.nack(orders.receive_one()[1], reason="rejected")
    letters = orders.value(
        "select array_agg(dead_letter_id) from signalbox.dead_letter where source_queue_id = %s", orders.queue_id
    )
    orders.rows("select * from signalbox.redrive(%s, actor => 'ana')", letters)
    assert payloads(billing) == [1]


def test_copies_go_on_along_a_chain_and_a_delay_holds(make_engine: MakeEngine) -> None:
    first, second, third = make_engine(), make_engine(), make_engine()
    subscribe(first, second)
    subscribe(second, third, delay_seconds=3600)
    first.send("on")
    assert payloads(second) == ["on"]
    assert third.counted()[:2] == (0, 1)


def test_a_paused_a_closed_and_a_full_target_hold_their_copies_and_stop_no_other(make_engine: MakeEngine) -> None:
    source, paused, closed, full, fine = (
        make_engine(), make_engine(), make_engine(), make_engine(max_backlog_messages=3), make_engine()
    )  # fmt: skip
    targets = [paused, closed, full, fine]
    for target in targets:
        subscribe(source, target)
    assert pause(source, paused)
    assert not pause(source, paused)
    closed.value("select signalbox.configure_queue(%s, %s)", closed.queue, Jsonb({"closed": True}))
    for number in range(5):
        source.send(number)
    feed(source)

    assert payloads(fine) == [0, 1, 2, 3, 4]
    assert [held(source, target) for target in targets] == [5, 5, 2, 0]

    assert pause(source, paused, False)
    closed.value("select signalbox.configure_queue(%s, %s)", closed.queue, Jsonb({"closed": False}))
    full.value("select signalbox.configure_queue(%s, %s)", full.queue, Jsonb({"max_backlog_messages": 100}))
    source.send(5)  # behind those that are held
    feed(source)
    for target in targets[:3]:
        assert payloads(target) == [0, 1, 2, 3, 4, 5]
        assert held(source, target) == 0


def test_held_copies_of_many_subscriptions_share_a_full_target(make_engine: MakeEngine) -> None:
    target = make_engine(max_backlog_messages=10)
    sources = [make_engine() for _ in range(3)]
    for source in sources:
        subscribe(source, target)
        pause(source, target)
        send_batch(source, [source.queue] * 200)
        pause(source, target, False)
    got: list[str] = []
    for _ in range(15):
        feed(target)
        rows = target.receive(10)
        got += [row[3] for row in rows]
        target.ack(*(row[1] for row in rows))
        target.value("select signalbox.aggregate_counters()")
    shares = [got.count(source.queue) for source in sources]
    assert min(shares) >= 0.5 * sum(shares) / 3


def test_copies_in_a_fifo_target_keep_the_order_of_a_group(make_engine: MakeEngine) -> None:
    source, target = make_engine(mode="fifo"), make_engine(mode="fifo")
    subscribe(source, target)
    source.send(1, group_id="g")
    pause(source, target)
    source.send(2, group_id="g")
    pause(source, target, False)
    source.send(3, group_id="g")
    feed(source)
    got = []
    for _ in range(3):
        row = target.receive_one()
        got.append(row[3])
        target.ack(row[1])
    assert got == [1, 2, 3]


def test_held_copies_expire_with_the_retention_of_the_target(make_engine: MakeEngine) -> None:
    source, target = make_engine(), make_engine(retention_seconds=3600)
    number = subscribe(source, target)
    pause(source, target)
    source.send("old")
    source.send("new")
    old = "update signalbox.held_copy set held_at = now() - interval '2 hours' where payload = '\"old\"'"
    source.connection.execute(old)
    feed(source)
    expired = "select expired from signalbox.queue_subscription where subscription_id = %s"
    assert (held(source, target), source.value(expired, number)) == (1, 1)


def test_a_subscription_ends_and_loses_held_copies_only_on_request(make_engine: MakeEngine) -> None:
    source, target = make_engine(), make_engine()
    subscribe(source, target)
    pause(source, target)
    source.send(1)
    end = "select signalbox.unsubscribe(%s, %s, %s)"
    with pytest.raises(psycopg.Error) as refused:
        source.value(end, source.queue, target.queue, False)
    assert refused.value.diag.column_name == "discard"
    assert source.value(end, source.queue, target.queue, True)
    assert not source.value(end, source.queue, target.queue, False)
    flags = "select admission_flags from signalbox.queue where queue_id = %s"
    assert source.value(flags, source.queue_id) == 0
    source.send(2)
    assert payloads(target) == []


def test_an_erasure_reaches_held_copies(make_engine: MakeEngine) -> None:
    source, target = make_engine(), make_engine()
    subscribe(source, target)
    pause(source, target)
    message_id = source.send({"name": "Ada"}, attributes={"of": "Ada"})
    source.value("select signalbox._erase_everywhere(7, array[%s::bigint], '{}')", message_id)
    pause(source, target, False)
    feed(source)
    assert target.rows("select payload, attributes from signalbox.receive(%s)", target.queue) == [
        ({"erased": "7"}, None)
    ]


def test_circles_and_wrong_ends_are_refused_when_made(make_engine: MakeEngine) -> None:
    a, b, c = make_engine(), make_engine(), make_engine()
    subscribe(a, b)
    subscribe(b, c)
    for source, target in ((c, a), (a, a), (b, a)):
        with pytest.raises(psycopg.Error) as refused:
            subscribe(source, target)
        assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", "target")
        assert "circle" in str(refused.value)
    for names, field in ((("no-such", a.queue), "source"), ((a.queue, "no-such"), "target")):
        with pytest.raises(psycopg.Error) as refused:
            a.value("select signalbox.subscribe(%s, %s)", *names)
        assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB404", field)
    with pytest.raises(psycopg.Error) as refused:
        subscribe(a, c, delay_seconds=-1)
    assert refused.value.diag.column_name == "delay_seconds"


def test_two_halves_of_a_circle_that_are_made_at_once_do_not_both_come_in(
    make_engine: MakeEngine, connect: Connect
) -> None:
    a, b = make_engine(), make_engine()
    first, second = a.on(connect(autocommit=False)), b.on(connect(autocommit=False))
    subscribe(first, b)
    second.connection.execute("set lock_timeout = '50ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        second.value("select signalbox.subscribe(%s, %s)", b.queue, a.queue)
    second.connection.rollback()
    first.connection.commit()
    with pytest.raises(psycopg.Error, match="circle"):
        second.value("select signalbox.subscribe(%s, %s)", b.queue, a.queue)


def test_a_queue_with_a_subscription_cannot_be_deleted(make_engine: MakeEngine) -> None:
    source, target = make_engine(), make_engine()
    subscribe(source, target)
    for end in (source, target):
        end.value("select signalbox.configure_queue(%s, %s)", end.queue, Jsonb({"closed": True}))
        with pytest.raises(psycopg.Error, match="subscription"):
            end.value("select signalbox.delete_queue(%s)", end.queue)


def test_a_queue_without_subscriptions_runs_no_statement_of_them(make_engine: MakeEngine, connect: Connect) -> None:
    plain, source, target = make_engine(), make_engine(), make_engine()
    subscribe(source, target)

    def calls(engine: Engine) -> int:
        session = engine.on(connect())
        session.connection.execute("set track_functions = 'all'")
        session.connection.execute("begin")
        session.send("one")
        send_batch(session, [1, 2])
        send_batch(session, [1, 2], priorities=[1, 2])
        session.ack(*(row[1] for row in session.receive(10)))
        called = (
            "select coalesce(sum(x.calls), 0) from pg_stat_xact_user_functions x join pg_proc f on f.oid = x.funcid"
            " where f.proname in ('_send_to_subscribers', '_send_copies', '_selects')"
        )
        answer = int(session.value(called))
        session.connection.execute("rollback")
        return answer

    assert calls(plain) == 0
    assert calls(source) > 0


BATCH = """
select array_agg(s) from signalbox.send_batch(%s, array['{"n": 0}', '{"n": 0}', '{"n": 1}']::jsonb[], OPTIONS) s
"""


@pytest.mark.parametrize(
    ("options", "copies"),
    [
        ("attributes => array_fill('{}'::jsonb, array[3]), priorities => array[0, 0, 0]", [0, 0, 0, 1]),
        ("deduplication_ids => array['first', 'first', 'other']", [0, 1]),
        ("delay_seconds => array[0, 0, 0.001]", [0, 0, 0, 1]),
    ],
)
def test_a_batch_sends_its_copies_together(make_engine: MakeEngine, options: str, copies: list[int]) -> None:
    source, *targets = (make_engine() for _ in range(3))
    for target in targets:
        source.value("select signalbox.subscribe(%s, %s)", source.queue, target.queue)
    source.send({"n": 0}, deduplication_id="first")
    with source.connection.transaction():
        source.connection.execute("set local track_functions = 'all'")
        source.value(BATCH.replace("OPTIONS", options), source.queue)
        counted = "select calls from pg_stat_xact_user_functions where funcname = '_send_to_subscribers'"
        assert source.value(counted) == 1
    for target in targets:
        assert [row[3]["n"] for row in target.receive(10)] == copies
