"""Arguments are checked before they reach the wire, and the error names the one at fault."""

from __future__ import annotations

import pytest

from signalbox.calls import queues, receiving, sending, settling
from signalbox.errors import InvalidArgument


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: sending.send("q", 1, {"delay_seconds": -1}), "delay_seconds"),
        (lambda: sending.send("q", 1, {"delay_seconds": float("nan")}), "delay_seconds"),
        (lambda: sending.send("q", 1, {"delay_seconds": "1"}), "delay_seconds"),
        (lambda: sending.send("q", 1, {"delay_seconds": True}), "delay_seconds"),
        (lambda: sending.send("q", 1, {"priority": 32768}), "priority"),
        (lambda: sending.send("q", 1, {"priority": None}), "priority"),
        (lambda: sending.send("q", 1, {"priority": 1.5}), "priority"),
        (lambda: sending.send("q", 1, {"group_id": "a\x00"}), "group_id"),
        (lambda: sending.send("q", 1, {"deduplication_id": 7}), "deduplication_id"),
        (lambda: sending.send("q", 1, {"trace_id": "\udcff"}), "trace_id"),
        (lambda: sending.send("q", {1, 2}, {}), "payload"),
        (lambda: sending.send("q", 1, {"attributes": [1]}), "attributes"),
        (lambda: sending.send(7, 1, {}), "queue"),
        (lambda: sending.send_batch("q", [1, {1}], {}), "payloads[1]"),
        (lambda: sending.send_batch("q", [1, 2], {"priorities": [1]}), "priorities"),
        (lambda: sending.send_batch("q", [1, 2], {"priorities": [1, -1]}), "priorities[1]"),
        (lambda: sending.send_batch("q", [1, 2], {"group_ids": "ab"}), "group_ids"),
        (lambda: sending.send_batch("q", [1, 2], {"delay_seconds": [0, -1]}), "delay_seconds[1]"),
        (lambda: sending.send_batch("q", [1], {"attributes": [{"a": {1}}]}), "attributes[0]"),
        (lambda: receiving.receive("q", 0, None, None, durable=True), "max_messages"),
        (lambda: receiving.receive("q", 1, -1, None, durable=True), "visibility_timeout"),
        (lambda: settling.ack([7]), "receipt_handles[0]"),
        (lambda: settling.nack("h", {"delay_seconds": -1}), "delay_seconds"),
        (lambda: settling.change_visibility(["h"], float("inf")), "seconds"),
        (lambda: queues.purge("q", None, "ready", 10, 60), "states"),
        (lambda: queues.create_queue("q", {"max_receives": float("nan")}, None), "settings"),
    ],
)
def test_what_is_wrong_is_named(make, field):
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert caught.value.field == field
    assert str(caught.value).startswith(field.partition("[")[0])


def test_a_failures_story_is_made_storable_instead_of_refused():
    call = settling.nack("h", {"error": "a\x00b\ud800"})
    assert call.parameters["error"] == "a\\0b\\ud800"
