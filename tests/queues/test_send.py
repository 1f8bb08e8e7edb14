"""What a sender may rely on."""

from __future__ import annotations

from tests.engine import Engine


def test_a_sent_message_is_received_once(engine: Engine) -> None:
    message_id = engine.send({"order": 1})

    assert [(row[0], row[2], row[3]) for row in engine.receive(10)] == [(message_id, 1, {"order": 1})]
    assert engine.receive(10) == []
