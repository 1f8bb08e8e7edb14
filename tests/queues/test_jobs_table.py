"""The guide docs/use/jobs-table-moving.md, run as written, while an old producer and an old worker go on."""

from __future__ import annotations

import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

GUIDE = Path(__file__).parents[2] / "docs" / "use" / "jobs-table-moving.md"
SQL = re.findall(r"^```(sql|)\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
TABLE, QUEUE, TRIGGER, STOCK = (text for _, text in SQL)
JOBS = 50

ENQUEUE = """
insert into message (queue_name, payload, deduplication_id, priority) values (%s, %s, %s, 20)
on conflict (queue_name, deduplication_id)
  where deduplication_id is not null and status in ('pending', 'processing') do nothing
returning message_id
"""
ONE_PENDING = """
create unique index on message (queue_name, deduplication_id)
  where deduplication_id is not null and status in ('pending', 'processing')
"""
DEQUEUE = """
update message set status = 'processing', attempt_count = attempt_count + 1, visible_after = now() + interval '30 s'
where message_id in (
  select message_id from message where queue_name = %s and status = 'pending' and visible_after <= now()
  order by priority desc, visible_after limit 3 for update skip locked
)
returning message_id, payload, attempt_count
"""
COMPLETE = "update message set status = 'completed', completed_at = now() where message_id = %s"
FAIL = "update message set status = 'pending', visible_after = now(), last_error = 'broken' where message_id = %s"


class OldSystem:
    """A producer and a worker as they were before the move; each third job fails once in the old worker."""

    def __init__(self, connect: Callable[..., psycopg.Connection[Any]], queue: str) -> None:
        self.done: Counter[int] = Counter()
        self.sent: list[int] = []
        self.moved = threading.Event()
        self.over = threading.Event()
        self._connect = connect
        self._queue = queue

    def produce(self) -> None:
        connection = self._connect()
        left = JOBS
        for number in itertools.count():
            job = {"n": number}
            for _ in range(2 if self.moved.is_set() else 1):  # a repeat has no effect while the first is under way
                connection.execute(ENQUEUE, [self._queue, Jsonb(job), f"job-{number}"]).fetchone()
            self.sent.append(number)
            left -= self.moved.is_set()
            if not left:
                return

    def work(self) -> None:
        connection = self._connect()
        while not self.over.is_set():
            for message_id, payload, attempt in connection.execute(DEQUEUE, [self._queue]).fetchall():
                if payload["n"] % 3 == 0 and attempt == 1:
                    connection.execute(FAIL, [message_id])
                    continue
                self.done[payload["n"]] += 1
                connection.execute(COMPLETE, [message_id])


@pytest.fixture
def old(connect: Callable[..., psycopg.Connection[Any]], dsn: str) -> Any:
    owner = connect()
    owner.execute("create schema jobs_table")
    options = {"options": "-c search_path=jobs_table,public"}
    yield OldSystem(lambda: connect(**options), "orders-of-the-guide"), connect(**options)
    owner.execute("drop schema jobs_table cascade")


def test_the_guide_moves_a_running_table(old: tuple[OldSystem, psycopg.Connection[Any]]) -> None:
    system, owner = old
    owner.execute(TABLE)
    owner.execute(ONE_PENDING)
    threads = [threading.Thread(target=system.produce), threading.Thread(target=system.work)]
    for thread in threads:
        thread.start()
    try:
        while len(system.sent) < JOBS:
            threads[0].join(0.005)
        owner.execute(QUEUE.replace("'orders'", "'orders-of-the-guide'"))
        owner.execute(TRIGGER)
        system.moved.set()
        while owner.execute(STOCK).rowcount:
            pass
        threads[0].join()
        while owner.execute("select from message where status in ('pending', 'processing')").fetchone():
            threads[1].join(0.005)
    finally:
        system.moved.set()
        system.over.set()
        for thread in threads:
            thread.join()

    by_old = set(system.done)
    while rows := owner.execute(
        "select payload, receipt_handle from signalbox.receive('orders-of-the-guide', 1000)"
    ).fetchall():
        system.done.update(payload["n"] for payload, _ in rows)
        owner.execute("select signalbox.ack(%s)", [[handle for _, handle in rows]])
    assert [number for number in system.sent if number not in system.done] == [], "lost"
    assert [number for number, times in system.done.items() if times > 1] == [], "twice"
    assert 0 < len(by_old) < len(system.sent)
