"""Large bodies of streams over HTTP: the server stores and fetches them."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest

from console.api.streams import appending
from queues import bodies
from signalbox.messages import Body, StreamMessage
from signalbox.payloads.encoding import encode
from tests.console.api.callers import Caller
from tests.console.api.worlds import World


def read(caller: Caller, stream: str) -> list[dict[str, Any]]:
    answer = caller.post(f"/v1/streams/{stream}/groups/all:read", {"member": "m"})
    assert answer.status == 200
    messages: list[dict[str, Any]] = answer.document["messages"]
    return messages


def test_large_bodies_go_through_the_store(world: World, caller: Caller) -> None:
    stream = world.stream
    world.connection.execute("select signalbox.create_group(%s, 'all', 'beginning')", [stream])
    here = f"/v1/streams/{stream}/messages"
    large = [{"of": stream, "n": n, "text": "x" * 300_000} for n in range(3)]
    assert caller.post(here, {"body": large[0], "key": "k"}).status == 202
    together = [{"body": large[1], "key": "k"}, {"body": None, "key": "k"}, {"body": large[2], "key": "k"}]
    assert caller.post(f"{here}:batch", {"messages": together}).status == 200
    assert [one["body"] for one in read(caller, stream)] == [large[0], large[1], None, large[2]]

    bodies.store().delete(hashlib.sha256(encode(large[1]).encode()).hexdigest())
    first, lost, _, last = read(caller, stream)
    assert (first["body"], lost["body"], last["body"]) == (large[0], None, large[2])
    assert lost["unreadable"]["field"] == "payload"


@pytest.mark.parametrize(("max_bytes", "count"), [(1, 1), (300, 1), (599, 1), (600, 3), (899, 3), (900, 4)])
def test_an_answer_has_bounded_bodies(max_bytes: int, count: int) -> None:
    """A read moves nothing, so that the next one returns the messages that did not fit."""
    sizes = [300, 300, None, 300]
    now = datetime.now(UTC)
    messages = [
        StreamMessage(0, n, 1, None, None, {}, now, body=None if size is None else Body("ab" * 32, size))
        for n, size in enumerate(sizes)
    ]
    assert len(appending.fitting(messages, max_bytes)) == count
    assert appending.fitting([], max_bytes) == []
