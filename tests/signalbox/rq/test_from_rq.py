"""The guide docs/use/rq-moving.md: jobs of a real RQ on a real Redis move, by the programs of the guide."""

from __future__ import annotations

import re
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from rq import Queue, SimpleWorker

from signalbox import Client
from tests.signalbox.rq import shop

pytestmark = pytest.mark.proof
GUIDE = (Path(__file__).parents[3] / "docs" / "use" / "rq-moving.md").read_text()
JOBS = 40


def test_an_application_moves_from_rq_without_loss(redis: str, dsn: str) -> None:
    handler, program = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    handle, forward = _run(handler)["handle"], _run(program)["forward"]
    connection = Redis.from_url(redis)
    queue = Queue("rq-guide", connection=connection)
    shop.done.clear()

    def produce() -> None:
        for number in range(JOBS):
            queue.enqueue(shop.ship, number, express=True)

    sender = threading.Thread(target=produce)
    sender.start()
    worker = SimpleWorker([queue], connection=connection)
    while shop.done.total() < JOBS / 4:
        worker.work(burst=True, max_jobs=5)
    by_old = shop.done.total()
    sender.join()
    queue.enqueue_in(timedelta(hours=1), shop.ship, -1)
    with Client(dsn) as client:
        client.create_queue("rq-guide")
        client.send("rq-guide", {"func": "tests.signalbox.rq.shop.ship", "args": [JOBS], "kwargs": {}})

        assert forward(redis, dsn, "rq-guide") == JOBS - by_old + 1
        assert forward(redis, dsn, "rq-guide") == 0
        while messages := client.receive("rq-guide", 100):
            for message in messages:
                handle(message)
                client.ack(message)
        assert shop.done == Counter(range(JOBS + 1))
        assert by_old < JOBS
        assert client.purge("rq-guide") == 1  # the one of the hour to come


def _run(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(text, names)  # the guide's own words
    return names
