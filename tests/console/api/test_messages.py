"""Sending, receiving and settling messages over HTTP."""

from __future__ import annotations

from tests.console.api.callers import Caller
from tests.engine import Engine


def test_a_message_is_sent_received_and_acknowledged(caller: Caller, engine: Engine) -> None:
    sent = caller.post(f"/v1/queues/{engine.queue}/messages", {"body": {"order": 7, "name": "ünïcode"}})
    assert sent.status == 202
    assert sent.document["messageId"] == f"msg_{sent.document['sequence']}"

    received = caller.post(f"/v1/queues/{engine.queue}/messages:receive", {"maxMessages": 10})
    assert received.status == 200
    (message,) = received.document["messages"]
    assert message["messageId"] == sent.document["messageId"]
    assert message["body"] == {"order": 7, "name": "ünïcode"}
    assert message["receiveCount"] == 1
    assert message["messageGroupId"] is None

    path = f"/v1/queues/{engine.queue}/messages/{message['receiptHandle']}:ack"
    acked = caller.post(path)
    assert (acked.status, acked.content) == (204, b"")
    assert caller.post(path).kind == "lease-lost"
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_whoever_has_no_key_learns_nothing(stranger: Caller, engine: Engine) -> None:
    for path in (f"/v1/queues/{engine.queue}/messages", "/v1/queues/none/messages", "/v1/nowhere"):
        refused = stranger.post(path, {"body": 1})
        assert (refused.status, refused.kind) == (401, "unauthorized")
        assert refused.headers["www-authenticate"].startswith("Bearer")
    assert engine.recounted() == (0, 0, 0, 0, 0)
