"""Binary payloads: stored as base64 beside the attribute that declares them, and kept exactly wherever messages go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine

EVERY_BYTE = bytes(range(256)) * 3
READ = "select signalbox.payload_bytes(payload, attributes), attributes, receipt_handle from signalbox.receive(%s, 10)"


def received(engine: Engine) -> list[Any]:
    return [(bytes(content), attributes, handle) for content, attributes, handle in engine.rows(READ, engine.queue)]


def test_bytes_stay_the_same_through_copies_dead_letters_redrives_and_trash(make_engine: Callable[..., Engine]) -> None:
    engine, copied = make_engine(), make_engine()
    engine.value("select signalbox.subscribe(%s, %s)", engine.queue, copied.queue)
    send = "select signalbox.send_binary(%s, %s, 'image/png', attributes => '{\"kind\": \"scan\"}')"
    message_id = engine.value(send, engine.queue, EVERY_BYTE)
    declared = {"kind": "scan", "binary_content_type": "image/png"}
    assert received(copied)[0][:2] == (EVERY_BYTE, declared)

    (first,) = received(engine)
    assert first[:2] == (EVERY_BYTE, declared)
    assert engine.nack(first[2], reason="rejected") == "dead"
    dead = engine.value("select dead_letter_id from signalbox.dead_letter where message_id = %s", message_id)
    engine.rows("select * from signalbox.redrive(%s)", [dead])
    (second,) = received(engine)
    assert second[:2] == first[:2]
    engine.value("select signalbox.change_visibility(%s, 0)", second[2])
    batch = engine.value("select signalbox.open_trash_batch(3600)")
    engine.value("select signalbox.purge(%s, trash_batch_id => %s)", engine.queue, batch)
    engine.rows("select signalbox.restore(%s)", batch)
    assert received(engine)[0][:2] == first[:2]


def test_bytes_stay_the_same_from_a_stream_into_a_queue(make_engine: Callable[..., Engine]) -> None:
    engine, stream = make_engine(), f"{make_engine().queue}-s"
    engine.value("select signalbox.create_stream(%s, '{}')", stream)
    engine.value("select signalbox.create_group(%s, 'g', 'beginning', queue => %s)", stream, engine.queue)
    engine.rows("select * from signalbox.append_binary(%s, %s)", stream, EVERY_BYTE)
    engine.value("select signalbox.feed_queues()")
    assert [content for content, *_ in received(engine)] == [EVERY_BYTE]
    read = "select signalbox.payload_bytes(payload, attributes) from signalbox.read_stream(%s, 'h', 'm')"
    engine.value("select signalbox.create_group(%s, 'h', 'beginning')", stream)
    assert [bytes(content) for (content,) in engine.rows(read, stream)] == [EVERY_BYTE]


@pytest.mark.parametrize(
    ("payload", "attributes", "field"),
    [
        ("####", {"binary_content_type": "image/png"}, "payload"),
        ("QUJ", {"binary_content_type": "image/png"}, "payload"),
        ({"a": 1}, {"binary_content_type": "image/png"}, "payload"),
        ("QUJD", {"binary_content_type": 7}, "content_type"),
        ("QUJD", {"binary_content_type": "png"}, "content_type"),
        ("QUJD", {"binary_content_type": "image/png\n"}, "content_type"),
        ("QUJD", {"binary_content_type": "a/" + "b" * 300}, "content_type"),
    ],
)
def test_a_payload_that_is_not_what_it_declares_is_refused(
    engine: Engine, payload: Any, attributes: dict[str, Any], field: str
) -> None:
    given = (Jsonb(payload), Jsonb(attributes))
    stream = f"{engine.queue}-stream"
    engine.value("select signalbox.create_stream(%s, '{}')", stream)
    for verb, name, arguments in (
        ("send", engine.queue, given),
        ("send_batch", engine.queue, tuple([one] for one in given)),
        ("append", stream, given),
    ):
        with pytest.raises(psycopg.DatabaseError) as refused:
            engine.rows(f"select signalbox.{verb}(%s, %s, %s)", name, *arguments)
        assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", field)


def test_a_filter_on_the_fields_of_a_payload_does_not_match_bytes(make_engine: Callable[..., Engine]) -> None:
    engine, scans, orders = make_engine(), make_engine(), make_engine()
    engine.value("select signalbox.subscribe(%s, %s, 'attr.binary_content_type:image/png')", engine.queue, scans.queue)
    engine.value("select signalbox.subscribe(%s, %s, 'payload.kind:scan')", engine.queue, orders.queue)
    engine.value("select signalbox.send_binary(%s, '{\"kind\": \"scan\"}', 'image/png')", engine.queue)
    assert len(scans.receive(10)) == 1
    assert orders.receive(10) == []
