"""Arrays as PostgreSQL allows them: another first index changes nothing, and several dimensions are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.streams import make_log

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]

OPTIONS = {
    "attributes": """'[0:1]={"{\\"n\\": 1}","{\\"n\\": 2}"}'::jsonb[]""",
    "priorities": "'[0:1]={7,2}'",
    "delay_seconds": "'[0:1]={60,0}'",
    "group_ids": "'[0:1]={ga,gb}'",
    "deduplication_ids": "'[0:1]={da,db}'",
    "trace_ids": "'[0:1]={ta,tb}'",
}
COLUMNS = {
    "attributes": ("(attributes ->> 'n')::int", [1, 2]),
    "priorities": ("priority", [7, 2]),
    "group_ids": ("group_id", ["ga", "gb"]),
    "deduplication_ids": ("deduplication_id", ["da", "db"]),
    "trace_ids": ("trace_id", ["ta", "tb"]),
}


@pytest.mark.parametrize("verb", ["send_batch", "send_each"])
@pytest.mark.parametrize("limits", [{}, {"max_backlog_messages": 10}], ids=["plain", "limited"])
@pytest.mark.parametrize("option", COLUMNS)
def test_options_go_to_their_messages(make_engine: MakeEngine, verb: str, limits: dict[str, Any], option: str) -> None:
    engine = make_engine(**limits)
    column, expected = COLUMNS[option]
    engine.rows(
        f"select * from signalbox.{verb}(%s, '[5:6]={{1,2}}'::jsonb[], {option} => {OPTIONS[option]})", engine.queue
    )

    sent = engine.rows(
        f"select payload, {column} from signalbox.message where queue_id = %s order by payload", engine.queue_id
    )
    assert sent == [(1, expected[0]), (2, expected[1])]


def test_delays_go_to_their_messages(engine: Engine) -> None:
    engine.rows(
        f"select signalbox.send_batch(%s, '{{1,2}}'::jsonb[], delay_seconds => {OPTIONS['delay_seconds']})",
        engine.queue,
    )
    assert [row[3] for row in engine.receive(10)] == [2]


def test_groups_of_a_fifo_queue_are_their_messages(make_engine: MakeEngine) -> None:
    engine = make_engine(mode="fifo")
    engine.rows(
        f"select signalbox.send_batch(%s, '{{1,2}}'::jsonb[], group_ids => {OPTIONS['group_ids']})", engine.queue
    )
    assert {row[3]: row[4] for row in engine.receive(10)} == {1: "ga", 2: "gb"}


def test_keys_go_to_their_messages(connect: Connect) -> None:
    log = make_log(connect(), partitions=2)
    log.value(
        "select count(*) from signalbox.append_batch(%s, '[0:1]={1,2}'::jsonb[], keys => '[0:1]={ka,kb}')", log.name
    )
    rows = log.rows("select payload, key from signalbox.stream_message where stream_id = %s", log.stream_id)
    assert sorted(rows) == [(1, "ka"), (2, "kb")]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("select acked from signalbox.ack(%(handles)s::text[])", True),
        ("select acked from signalbox.ack(%(handles)s::text[], %(results)s::jsonb[])", True),
        ("select outcome from signalbox.nack_batch(%(handles)s::text[])", "retry"),
        ("select deadline > now() from signalbox.change_visibility_batch(%(handles)s::text[], 60)", True),
    ],
    ids=["ack", "ack with results", "nack_batch", "change_visibility_batch"],
)
def test_handles_are_all_seen(engine: Engine, statement: str, expected: object, count: int) -> None:
    for number in range(count):
        engine.send(number)
    handles = [row[1] for row in engine.receive(count)]
    arguments = {"handles": bounded(handles), "results": bounded(["1"] * count)}

    rows = engine.connection.execute(statement.encode(), arguments).fetchall()

    assert rows == [(expected,)] * count


@pytest.mark.parametrize("count", [1, 2])
def test_a_claim_acknowledges_all_handles(engine: Engine, count: int) -> None:
    for number in range(count):
        engine.send(number)
    handles = [row[1] for row in engine.receive(count)]

    assert (
        engine.rows(
            "select receipt_handle from signalbox.receive(%s, acknowledge => %s::text[])",
            engine.queue,
            bounded(handles),
        )
        == []
    )
    assert engine.recounted() == (0, 0, 0, 0, 0)


TWO_DIMENSIONS = {
    "payloads": "select signalbox.send_batch({queue}, '{{{{1}},{{2}}}}'::jsonb[])",
    "group_ids": "select signalbox.send_batch({queue}, '{{1,2}}'::jsonb[], group_ids => '{{{{a}},{{b}}}}')",
    "priorities": "select signalbox.send_each({queue}, '{{1,2}}'::jsonb[], priorities => '{{{{1}},{{2}}}}')",
    "receipt_handles": "select signalbox.ack(array[array['{handle}']])",
    "results": "select signalbox.ack(array['{handle}'], array[array['1'::jsonb]])",
    "errors": "select signalbox.nack_batch(array['{handle}'], errors => array[array['e']])",
}


@pytest.mark.parametrize("field", TWO_DIMENSIONS)
def test_more_than_one_dimension_is_refused_by_name(engine: Engine, field: str) -> None:
    engine.send("x")
    handle = engine.receive_one()[1]

    with pytest.raises(psycopg.Error) as refused:
        engine.connection.execute(TWO_DIMENSIONS[field].format(queue=f"'{engine.queue}'", handle=handle).encode())
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", field)
    assert engine.ack(handle) == [True]


@pytest.mark.parametrize(
    "statement", ["ack(array[array['{handle}']])", "change_visibility_batch(array[array['{handle}']], 60)"]
)
def test_a_table_of_handles_is_refused(engine: Engine, statement: str) -> None:
    engine.send("x")
    handle = engine.receive_one()[1]
    with pytest.raises(psycopg.Error) as refused:
        engine.connection.execute(f"select * from signalbox.{statement.format(handle=handle)}".encode())
    assert refused.value.diag.column_name == "receipt_handles"


def bounded(values: list[str]) -> str:
    """An array literal whose first index is 0."""
    return f"[0:{len(values) - 1}]={{{','.join(values)}}}"
