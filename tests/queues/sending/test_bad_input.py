"""Refusals: each names the field at fault, and changes nothing."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine


def refused(engine: Engine, statement: str, *parameters: Any) -> tuple[str | None, str | None, str]:
    """SQLSTATE, field and message of the refusal; fails when there is none."""
    with pytest.raises(psycopg.Error) as caught:
        engine.rows(statement, *parameters)
    error = caught.value
    return error.sqlstate, error.diag.column_name, error.diag.message_primary or ""


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        ("send(%s, '1')", None),
        ("send_batch(%s, '{1}')", None),
        ("receive(%s)", None),
        ("purge(%s)", None),
        ("announce_consumer(%s, 'c')", None),
        ("configure_queue(%s, '{}')", None),
    ],
)
def test_an_unknown_queue_is_named(engine: Engine, call: str, argument: None) -> None:
    sqlstate, field, message = refused(engine, f"select signalbox.{call}", "no such queue")

    assert (sqlstate, field) == ("SB404", "queue")
    assert "'no such queue'" in message


@pytest.mark.parametrize(
    ("option", "value", "field"),
    [
        ("priority", 32768, "priority"),
        ("priority", -1, "priority"),
        ("priority", None, "priority"),
        ("delay_seconds", -1.0, "delay_seconds"),
        ("delay_seconds", float("nan"), "delay_seconds"),
        ("delay_seconds", float("inf"), "delay_seconds"),
        ("delay_seconds", 31_536_001.0, "delay_seconds"),
        ("attributes", [1], "attributes"),
        ("attributes", {"a": "x" * 20_000}, "attributes"),
        ("group_id", "", "group_id"),
        ("group_id", "g" * 201, "group_id"),
        ("deduplication_id", "", "deduplication_id"),
        ("trace_id", "t" * 201, "trace_id"),
    ],
)
def test_an_option_out_of_range_is_named(engine: Engine, option: str, value: Any, field: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        engine.send("x", **{option: value})

    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SB400", field)
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_a_payload_at_the_limit_is_taken_and_one_byte_more_is_not(engine: Engine) -> None:
    engine.send("x" * (262_144 - 2))  # two quotes

    sqlstate, field, message = refused(
        engine, "select signalbox.send(%s, %s)", engine.queue, Jsonb("x" * (262_144 - 1))
    )
    assert (sqlstate, field) == ("SB413", "payload")
    assert "262145" in message
    assert "262144" in message
    assert engine.counted()[0] == 1


def test_a_payload_of_short_words_is_measured_as_text(engine: Engine) -> None:
    sqlstate, _, _ = refused(
        engine, "select signalbox.send(%s, %s)", engine.queue, Jsonb([False] * 50_000)
    )  # 5 bytes each as text and a comma, 4 as stored
    assert sqlstate == "SB413"


def test_a_missing_payload_is_refused(engine: Engine) -> None:
    assert refused(engine, "select signalbox.send(%s, null)", engine.queue)[:2] == ("SB400", "payload")
    assert refused(engine, "select signalbox.send_batch(%s, %s)", engine.queue, [Jsonb(1), None])[:2] == (
        "SB400",
        "payload",
    )


@pytest.mark.parametrize("text", ['"\\u0000"', "{'a': 1}", "{", "nul", '"\\ud800"'])
def test_what_is_not_json_for_postgresql_never_arrives(engine: Engine, text: str) -> None:
    sqlstate, _, _ = refused(engine, "select signalbox.send(%s, %s::jsonb)", engine.queue, text)

    assert sqlstate in ("22P02", "22P05")
    assert engine.counted()[0] == 0


@pytest.mark.parametrize("maximum", [0, -1, 1001])
def test_receive_is_bounded(engine: Engine, maximum: int) -> None:
    assert refused(engine, "select signalbox.receive(%s, %s)", engine.queue, maximum)[:2] == ("SB400", "max_messages")


@pytest.mark.parametrize("seconds", [-1.0, 43_201.0, float("nan")])
def test_a_visibility_timeout_has_bounds(engine: Engine, seconds: float) -> None:
    engine.send("x")

    assert refused(engine, "select signalbox.receive(%s, 1, %s)", engine.queue, seconds)[:2] == (
        "SB400",
        "visibility_timeout",
    )
    assert engine.counted() == (1, 0, 0, 0, 0)


@pytest.mark.parametrize("handle", ["", "x", "1.2", "1.2.3", "1.2.zzzz", f"999999999999.1.{UUID(int=7)}", "1.1.;--"])
def test_what_is_not_a_receipt_handle_is_said_so(engine: Engine, handle: str) -> None:
    for statement in (
        "select signalbox.ack(array[%s])",
        "select signalbox.nack(%s)",
        "select signalbox.change_visibility(%s, 1)",
    ):
        assert refused(engine, statement, handle)[:2] == ("SB400", "receipt_handle")


def test_a_stale_receipt_changes_nothing(engine: Engine) -> None:
    engine.send("x")
    stale = engine.receive_one()[1]
    engine.value("select signalbox.change_visibility(%s, 0)", stale)
    held = engine.receive_one()[1]

    assert engine.ack(stale) == [False]
    assert engine.nack(stale) is None
    assert engine.value("select signalbox.change_visibility(%s, 60)", stale) is None
    assert engine.ack(held) == [True]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"reason": "because"}, "reason"),
        ({"reason": None}, "reason"),
        ({"delay_seconds": -0.5}, "delay_seconds"),
    ],
)
def test_a_nack_that_makes_no_sense_keeps_the_lease(engine: Engine, options: dict[str, Any], field: str) -> None:
    engine.send("x")
    handle = engine.receive_one()[1]

    with pytest.raises(psycopg.Error) as caught:
        engine.nack(handle, **options)

    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SB400", field)
    assert engine.ack(handle) == [True]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"max_receive": 5}, "max_receive"),
        ({"max_receives": "5"}, "max_receives"),
        ({"max_receives": 2.5}, "max_receives"),
        ({"max_receives": 0}, "max_receives"),
        ({"max_receives": None}, "max_receives"),
        ({"visibility_timeout_seconds": -1}, "visibility_timeout_seconds"),
        ({"jitter": 1.1}, "jitter"),
        ({"mode": "stream"}, "mode"),
        ({"paused": "yes"}, "paused"),
        ({"dead_letter_queue": 7}, "dead_letter_queue"),
        ({"dead_letter_queue": "a b"}, "dead_letter_queue"),
        ({"retention_seconds": 10, "paused": True}, "retention_seconds"),
    ],
)
def test_a_setting_that_is_wrong_is_named_and_nothing_changes(
    engine: Engine, settings: dict[str, Any], field: str
) -> None:
    before = engine.rows("select * from signalbox.queue where queue_id = %s", engine.queue_id)

    for statement in ("configure_queue(%s, %s)", "create_queue(%s, %s)"):
        name = engine.queue if "configure" in statement else f"{engine.queue}-new"
        assert refused(engine, f"select signalbox.{statement}", name, Jsonb(settings))[:2] == ("SB400", field)

    assert engine.rows("select * from signalbox.queue where queue_id = %s", engine.queue_id) == before
    assert engine.rows("select 1 from signalbox.queue where name = %s", f"{engine.queue}-new") == []


@pytest.mark.parametrize("settings", ["[]", "1", "null"])
def test_settings_are_an_object(engine: Engine, settings: str) -> None:
    assert refused(engine, "select signalbox.configure_queue(%s, %s::jsonb)", engine.queue, settings)[0] == "SB400"


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a/b", "é", "<script>", "a" * 91, None])
def test_a_queue_name_has_a_form(engine: Engine, name: str | None) -> None:
    assert refused(engine, "select signalbox.create_queue(%s)", name)[:2] == ("SB400", "name")


def test_creating_a_queue_twice_needs_equal_settings(engine: Engine) -> None:
    name = f"{engine.queue}-twice"
    first = engine.value("select signalbox.create_queue(%s, '{\"max_receives\": 3}')", name)

    assert engine.value("select signalbox.create_queue(%s, '{\"max_receives\": 3.0}')", name) == first
    assert refused(engine, "select signalbox.create_queue(%s, '{\"max_receives\": 4}')", name)[:2] == (
        "SB400",
        "max_receives",
    )


def test_hostile_text_is_kept_as_it_is(engine: Engine) -> None:
    hostile = {"<script>alert(1)</script>": "'; drop table signalbox.ready; --", "n": "\\u0000 \t\n \U0001f4a5"}
    engine.send(hostile, attributes=hostile, group_id="'\"<b>", trace_id="{{7*7}}")
    handle, payload = engine.rows("select receipt_handle, payload from signalbox.receive(%s)", engine.queue)[0]

    assert payload == hostile
    assert engine.nack(handle, error_class="<b>", error="%s %d '; --", details="<pre>", reason="rejected") == "dead"
    assert engine.rows(
        "select error_class, error, details, payload from signalbox.dead_letter where source_queue_id = %s",
        engine.queue_id,
    ) == [("<b>", "%s %d '; --", "<pre>", hostile)]


def test_a_closed_queue_accepts_nothing_and_hands_out_what_it_has(engine: Engine) -> None:
    engine.send("x")
    engine.rows("select signalbox.configure_queue(%s, '{\"closed\": true}')", engine.queue)

    assert refused(engine, "select signalbox.send(%s, '1')", engine.queue)[:2] == ("SB423", "queue")
    assert refused(engine, "select signalbox.send_batch(%s, '{1}')", engine.queue)[:2] == ("SB423", "queue")
    assert len(engine.receive(10)) == 1


def test_upkeep_names_its_steps(engine: Engine) -> None:
    sqlstate, field, message = refused(engine, "select signalbox.upkeep('dance')")

    assert (sqlstate, field) == ("SB400", "step")
    assert "record_history" in message


def test_a_number_that_is_small_as_stored_is_measured_as_sent(engine: Engine) -> None:
    """60 numbers of 131,072 digits take a thousand bytes in jsonb and eight megabytes as text."""
    with pytest.raises(psycopg.Error) as caught:
        engine.value("select signalbox.send(%s, to_jsonb(array_fill(1e131071::numeric, array[60])))", engine.queue)

    assert caught.value.sqlstate == "SB413"
    assert engine.counted()[0] == 0


def test_another_tenants_queue_never_gets_the_dead_letters(engine: Engine) -> None:
    name = f"{engine.queue}-x"
    engine.value("select signalbox.create_queue(%s, '{}', 'globex')", f"{name}-dlq")
    engine.value("select signalbox.create_queue(%s, '{}', 'acme')", name)
    queue = engine.on(engine.connection)
    queue.queue = name
    queue.die({"secret": 1})

    assert engine.rows("select * from signalbox.receive(%s, 10)", f"{name}-dlq") == []
    assert (
        engine.value(
            "select t.name from signalbox.dead_letter d join signalbox.queue q using (queue_id)"
            " join signalbox.tenant t using (tenant_id) where d.source_queue = %s",
            name,
        )
        == "acme"
    )
    assert (
        refused(engine, "select signalbox.configure_queue(%s, %s)", name, Jsonb({"dead_letter_queue": f"{name}-dlq"}))[
            0
        ]
        == "SB404"
    )


SPELLINGS = {
    "with a tail": "{handle}.anything",
    "with a zero before": "0{handle}",
    "with a blank before": " {handle}",
    "with a blank behind": "{handle} ",
    "in capitals": "{capitals}",
    "with a zero before the message": "{queue_id}.0{message_id}.{nonce}",
    "with a sign": "{queue_id}.+{message_id}.{nonce}",
    "with a bare nonce": "{queue_id}.{message_id}.{bare}",
    "empty": "",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    "call",
    [
        "select * from signalbox.ack(array[%(bad)s])",
        "select * from signalbox.ack(array[%(bad)s, %(bad)s])",
        "select * from signalbox.ack(array[%(good)s, %(bad)s])",
        "select * from signalbox.ack(array[%(bad)s, %(good)s])",
        "select * from signalbox.ack(array[%(bad)s], array['1']::jsonb[])",
        "select signalbox.nack(%(bad)s)",
        "select * from signalbox.nack_batch(array[%(bad)s])",
        "select signalbox.defer(%(bad)s, 60)",
        "select signalbox.change_visibility(%(bad)s, 60)",
        "select * from signalbox.receive(%(queue)s, acknowledge => array[%(bad)s])",
        "select * from signalbox.receive(%(queue)s, acknowledge => array[%(good)s, %(bad)s])",
    ],
)
def test_a_handle_has_one_spelling(engine: Engine, call: str, spelling: str) -> None:
    """An extra digit in a mistyped handle is an error at every verb, and ends no other lease."""
    engine.send("x")
    handle = engine.receive_one()[1]
    queue_id, message_id, nonce = handle.split(".")
    bad = SPELLINGS[spelling].format(
        handle=handle,
        queue_id=queue_id,
        message_id=message_id,
        nonce=nonce,
        bare=nonce.replace("-", ""),
        capitals=f"{queue_id}.{message_id}.{nonce.upper()}A",
    )
    arguments = {"bad": bad, "good": handle, "queue": engine.queue}

    with pytest.raises(psycopg.Error) as caught:
        engine.connection.execute(call.encode(), arguments)
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SB400", "receipt_handle")
    assert engine.ack(handle) == [True]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("verb", ["ack(", "receive('{queue}', acknowledge => "])
def test_a_handle_that_is_null_is_refused(engine: Engine, verb: str, count: int) -> None:
    statement = f"select * from signalbox.{verb.format(queue=engine.queue)}array_fill(null::text, array[%s]))"
    _, field, message = refused(engine, statement, count)
    assert (field, message) == ("receipt_handle", "receipt_handle null is not a receipt handle")


def test_a_number_of_messages_that_is_null_is_said_to_be_null(engine: Engine) -> None:
    _, field, message = refused(engine, "select * from signalbox.receive(%s, null)", engine.queue)
    assert (field, message) == ("max_messages", "max_messages is null: it must be from 1 to 1000")
