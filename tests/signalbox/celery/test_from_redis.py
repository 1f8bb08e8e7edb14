"""The guide docs/use/celery-moving.md: a running application on a real Redis moves, by the program of the guide."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from tests.signalbox.celery.conftest import PROJECT, Shop, wait_until

pytestmark = [pytest.mark.timeout(600), pytest.mark.proof]
GUIDE = (PROJECT / "docs" / "use" / "celery-moving.md").read_text()


def test_an_application_moves_from_redis_without_loss(shop: Shop, redis: str) -> None:
    before = Shop(shop.dsn, shop.queue, shop.home, broker=redis)
    try:
        worker = before.start_worker()
        sent = [f"old-{number}" for number in range(40)]
        for name in sent:
            before.send("work", name)
        before.wait_done(10)

        shop.start_worker()  # step 2
        for number in range(20):  # step 3: some senders have moved, some have not
            sent += [f"late-{number}", f"new-{number}"]
            before.send("work", f"late-{number}")
            shop.send("work", f"new-{number}")
        before.wait_done(len(sent))
        before.send("work", "held for its time", countdown=3600)
        before.send("work", "soon", countdown=4)
        worker.process.terminate()  # step 4
        worker.process.wait(60)
        left = [f"left-{number}" for number in range(10)]
        for name in left:  # by the last sender that moves
            before.send("work", name)

        forward = _program()
        assert forward(redis, shop.url, shop.queue, idle_seconds=1) >= len(left) + 1
        assert forward(redis, shop.url, shop.queue, idle_seconds=1) == 0
    finally:
        before.close()

    expected = Counter([*sent, *left, "soon"])
    wait_until(lambda: len(shop.done()) >= expected.total(), lambda: expected - Counter(shop.done()))
    assert Counter(shop.done()) == expected
    [payload] = shop.rows(
        "select m.payload from signalbox.live_message m join signalbox.queue q using (queue_id)"
        " where q.name = %s and m.state = 'scheduled'",
        shop.queue,
    )
    assert payload[0]["body"][0] == ["held for its time"]


def _program() -> Any:
    [text] = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(text, names)  # the guide's own words
    return names["forward"]
