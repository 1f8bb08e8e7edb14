"""JSON that clients cannot read: refused at every door, and no bar to what was stored before."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from signalbox.payloads.encoding import MAX_DIGITS, MAX_LEVELS
from tests.engine import Engine
from tests.poison import each_poison, in_attributes, spoil, spoil_stream
from tests.queues.sending.test_bad_input import refused

JUST_TOO_MUCH = {
    "digits": "1" * (MAX_DIGITS + 1),
    "written out": f"1e{MAX_DIGITS}",
    "fraction": "0." + "1" * (MAX_DIGITS - 1),
    "arrays": "[" * (MAX_LEVELS + 1) + "]" * (MAX_LEVELS + 1),
    "objects": '{"a":' * (MAX_LEVELS + 1) + "1" + "}" * (MAX_LEVELS + 1),
}
AS_MUCH_AS_ALLOWED = [
    "1" * MAX_DIGITS,
    f"-1e{MAX_DIGITS - 2}",
    "0." + "1" * (MAX_DIGITS - 2),
    "[" * MAX_LEVELS + "]" * MAX_LEVELS,
    '{"a":' * MAX_LEVELS + "1" + "}" * MAX_LEVELS,
    json.dumps("1" * 5000),  # text
    json.dumps({"1" * 5000: 1}),
    json.dumps(["[" * 2000, "{" * 2000, list(range(3000))]),
]
VERBS = {
    "send": ("send(%(queue)s, %(json)s::jsonb)", "payload"),
    "send with attributes": ("send(%(queue)s, '1', %(object)s::jsonb)", "attributes"),
    "send_batch": ("send_batch(%(queue)s, array['1', %(json)s]::jsonb[])", "payload"),
    "send_batch with options": (
        "send_batch(%(queue)s, array['1', %(json)s]::jsonb[], priorities => '{1,2}')",
        "payload",
    ),
    "send_batch with attributes": (
        "send_batch(%(queue)s, '{1,2}', array['{}', %(object)s]::jsonb[])",
        "attributes",
    ),
    "append": ("append(%(stream)s, %(json)s::jsonb)", "payload"),
    "append with attributes": ("append(%(stream)s, '1', %(object)s::jsonb)", "attributes"),
    "append_batch": ("append_batch(%(stream)s, array['1', %(json)s]::jsonb[])", "payload"),
    "stage_messages": ("stage_messages(%(stage)s, 0, %(queue)s, null, array[%(json)s]::jsonb[])", "payload"),
    "stage_messages for a stream": (
        "stage_messages(%(stage)s, 0, null, %(stream)s, array[%(json)s]::jsonb[])",
        "payload",
    ),
    "stage_messages with attributes": (
        "stage_messages(%(stage)s, 0, %(queue)s, null, '{1}', array[%(object)s]::jsonb[])",
        "attributes",
    ),
    "announce_consumer": ("announce_consumer(%(queue)s, 'c', %(object)s::jsonb)", "details"),
    "put_mail": ("put_mail('nowhere', %(json)s::jsonb)", "body"),
    "nack": ("nack(%(handle)s, state => %(json)s::jsonb)", "state"),
    "nack_batch": ("nack_batch(array[%(handle)s], states => array[%(json)s]::jsonb[])", "state"),
    "ack": ("ack(array[%(handle)s], array[%(json)s]::jsonb[])", "results"),
    "redrive with a patch": (
        "_redrive(array[1], null, null, null, jsonb_build_object('1', %(json)s::jsonb))",
        "payload",
    ),
}
"""Each way in, and the field that its refusal names."""


@pytest.fixture
def stream(engine: Engine) -> str:
    name = f"{engine.queue}-stream"
    engine.value("select signalbox.create_stream(%s, %s)", name, Jsonb({"partitions": 1}))
    return name


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", JUST_TOO_MUCH)
def test_no_verb_takes_what_clients_cannot_read(engine: Engine, stream: str, verb: str, kind: str) -> None:
    engine.send()
    call, field = VERBS[verb]
    values = {
        "queue": engine.queue,
        "stream": stream,
        "json": JUST_TOO_MUCH[kind],
        "object": in_attributes(JUST_TOO_MUCH[kind]),
        "handle": engine.receive_one()[1],
        "stage": uuid.uuid4(),
    }

    with pytest.raises(psycopg.Error) as caught:
        engine.connection.execute(f"select signalbox.{call}", values)

    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SB400", field)
    said = caught.value.diag.message_primary or ""
    assert f"at most {MAX_LEVELS} levels" in said or f"at most {MAX_DIGITS}" in said
    assert engine.counted() == engine.recounted() == (0, 0, 1, 0, 0)


@pytest.mark.parametrize("allowed", AS_MUCH_AS_ALLOWED)
def test_what_clients_can_read_is_taken(engine: Engine, allowed: str) -> None:
    engine.value("select signalbox.send(%s, %s::jsonb)", engine.queue, allowed)

    assert engine.receive_one()[3] == json.loads(allowed, parse_float=lambda text: _as_stored(Decimal(text)))


def _as_stored(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


@each_poison
def test_send_each_refuses_the_one_and_takes_the_others(engine: Engine, poison: str) -> None:
    rows = engine.rows(
        "select message_id is not null, refusal, field from signalbox.send_each(%s, array['1', %s, '3']::jsonb[])",
        engine.queue,
        poison,
    )

    assert rows == [(True, None, None), (False, "SB400", "payload"), (True, None, None)]


@pytest.mark.parametrize("character", ["\r", "\n", "\x01", "\x1b", "\x7f", "\x85", "\x9b"])
def test_a_trace_id_has_no_control_characters(engine: Engine, stream: str, character: str) -> None:
    trace_id = f"a{character}b"

    for call in (
        "send(%s, '1', trace_id => %s)",
        "send_batch(%s, '{1}', trace_ids => array[%s])",
        "stage_messages(gen_random_uuid(), 0, %s, null, '{1}', trace_ids => array[%s])",
    ):
        sqlstate, field, _ = refused(engine, f"select signalbox.{call}", engine.queue, trace_id)
        assert (sqlstate, field) == ("SB400", "trace_id")
    for call in ("append(%s, '1', trace_id => %s)", "append_batch(%s, '{1}', trace_ids => array[%s])"):
        sqlstate, field, _ = refused(engine, f"select signalbox.{call}", stream, trace_id)
        assert (sqlstate, field) == ("SB400", "trace_id")


@each_poison
def test_a_subscription_goes_on_past_what_was_stored_before(engine: Engine, stream: str, poison: str) -> None:
    for n in range(3):
        engine.value("select signalbox.append(%s, %s)", stream, Jsonb(n))
    spoil_stream(engine.connection, stream, 2, poison)
    engine.connection.execute(
        "update signalbox.stream_message m set trace_id = E'a\\nb', attributes = %s::jsonb from signalbox.stream s"
        " where s.name = %s and m.stream_id = s.stream_id and m.position = 3",
        [in_attributes(poison), stream],
    )
    engine.value("select signalbox.create_group(%s, 'g', 'beginning', queue => %s)", stream, engine.queue)

    engine.value("select signalbox.feed_queues()")

    payloads = [row[3] for row in engine.receive(10)]
    text = engine.value("select (%s::jsonb)::text", poison)
    expected = {"unreadable": text} if text.startswith("{") else text
    assert payloads == [0, expected, 2]
    stored = engine.rows(
        "select trace_id, attributes from signalbox.message where queue_id = %s order by message_id", engine.queue_id
    )
    assert stored[2] == ("ab", {"unreadable": engine.value("select (%s::jsonb)::text", in_attributes(poison))})


@each_poison
def test_a_replay_keeps_it_back_and_sends_the_others(engine: Engine, poison: str) -> None:
    rows = engine.rows(
        "select message_id is not null, kept_because from signalbox._replay("
        "  %s, '{1,2,3}', array['1', %s, '3']::jsonb[], trace_ids => array['x', null, E'a\\nb'])"
        " order by archived_id",
        engine.queue,
        poison,
    )

    assert rows == [(True, None), (False, "unreadable"), (True, None)]


@each_poison
def test_a_redrive_sends_a_dead_letter_as_it_was(
    engine: Engine, connect: Callable[..., psycopg.Connection[Any]], poison: str
) -> None:
    message_id = engine.send()
    spoil(engine.connection, message_id, poison)
    handle = engine.value("select receipt_handle from signalbox.receive(%s)", engine.queue)
    assert engine.nack(handle, reason="rejected") == "dead"

    letter = engine.value("select dead_letter_id from signalbox.dead_letter where message_id = %s", message_id)
    engine.rows("select * from signalbox.redrive(array[%s]::bigint[])", letter)

    stored = engine.value("select payload::text from signalbox.receive(%s)", engine.queue)
    assert stored == engine.value("select (%s::jsonb)::text", poison)
