"""A key above its rate or concurrency limit is refused with a time to retry."""

from __future__ import annotations

from collections.abc import Callable

from tests.console.api.callers import Caller
from tests.engine import Engine


def test_a_key_above_its_rate_must_wait(make_caller: Callable[..., Caller], engine: Engine) -> None:
    """One request in ten thousand seconds: the second is refused however slow this machine is."""
    caller = make_caller(rate=0.0001)
    assert caller.post(f"/v1/queues/{engine.queue}/messages", {"body": 1}).status == 202
    refused = caller.post(f"/v1/queues/{engine.queue}/messages", {"body": 2})

    assert (refused.status, refused.kind) == (429, "rate-exceeded")
    assert int(refused.headers["retry-after"]) > 1000
    assert engine.recounted()[0] == 1
