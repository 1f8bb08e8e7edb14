"""Scenes for the diagnosis: real verbs make what happened, and then the clock of its traces is set back.

History is what upkeep would have recorded at the time; only its moment is moved. Nothing sleeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.diagnosis import Diagnosis, Evidence, diagnose, read_evidence
from metrics.reading.xmin_holders import Holder
from queues.counters.queue_numbers import read_numbers
from tests.engine import Engine, Row
from tests.races.sessions import until

# A row that says how a queue stands, as history has for one that was at rest.
STANDS = """
insert into signalbox.queue_history (
  queue_id, bucket_at, seconds, ready, scheduled, waiting, leased, dead, removed, published, delivered, acked, nacked,
  dead_lettered, oldest_visible_at, totals
)
select t.queue_id, clock_timestamp() - %s * interval '1 second', 10, d.ready, d.scheduled, d.waiting, d.leased, d.dead,
  0, 0, 0, 0, 0, 0, signalbox.oldest_visible_at(t.queue_id), t.totals
from signalbox.queue_totals(array[%s]) t, lateral signalbox._depths_of(t.totals) d
"""


@dataclass
class Scene:
    """One queue and what happens to it."""

    engine: Engine
    consumer: str = "worker-1"

    def send(self, count: int, **options: Any) -> None:
        for number in range(count):
            self.engine.send({"n": number}, **options)

    def work(self, count: int) -> None:
        """Let consumers receive and finish this number of messages."""
        while count:
            rows = self.take(1, most=min(count, 10))
            self.engine.ack(*(row[1] for row in rows))
            count -= len(rows)

    def take(self, count: int, consumer: str | None = None, most: int | None = None) -> list[Row]:
        """Receive this number of messages, or up to `most`, and keep them."""
        rows: list[Row] = []
        while len(rows) < count:
            taken = self.engine.receive((most or count) - len(rows), consumer=consumer or self.consumer)
            assert taken, "there is nothing left to take"
            rows += taken
        return rows

    def usual(self, count: int = 60, work_ms: int = 100) -> None:
        """An hour of ordinary work, that ended ten minutes ago: what came was done."""
        self.record(3600)
        self.send(count)
        self.work(count)
        self.took(work_ms)
        self.engine.connection.execute(
            "update signalbox.settled set settled_at = settled_at - interval '15 minutes' where queue_id = %s",
            [self.engine.queue_id],
        )
        self.record(600)

    def took(self, work_ms: int) -> None:
        """Work done within the last ten minutes took so long."""
        self.engine.connection.execute(
            "update signalbox.settled set work_ms = array_fill(%s::integer, array[cardinality(work_ms)])"
            " where queue_id = %s and settled_at > clock_timestamp() - interval '10 minutes'",
            [work_ms, self.engine.queue_id],
        )

    def record(self, seconds_ago: float) -> None:
        """History has a row of how the queue stands, as if it had stood so then."""
        until(lambda: self.engine.value("select signalbox.record_history()") is not None, "a row of history")
        moved = self.engine.connection.execute(
            "update signalbox.queue_history set bucket_at = clock_timestamp() - %s * interval '1 second'"
            " where queue_id = %s and bucket_at > clock_timestamp() - interval '50 seconds'",
            [seconds_ago, self.engine.queue_id],
        )
        if not moved.rowcount:  # nothing happened since the last one
            self.engine.connection.execute(STANDS, [seconds_ago, self.engine.queue_id])

    def age(self, seconds: float) -> None:
        """Make waiting messages older by this time."""
        for table, column in (("ready", "ready_at"), ("waiting", "waiting_since")):
            self.engine.connection.execute(
                f"update signalbox.{table} set {column} = {column} - %s * interval '1 second' where queue_id = %s",
                [seconds, self.engine.queue_id],
            )

    def lanes_move(self) -> None:
        """Make messages ready whose group has capacity, as a receive or upkeep would do first."""
        self.engine.value("select signalbox._promote_lanes(%s, 100)", self.engine.queue_id)

    def consumers_leave(self, seconds: float) -> None:
        """Make the last activity of consumers older by this time."""
        self.engine.connection.execute(
            "update signalbox.consumer set last_seen_at = last_seen_at - %s * interval '1 second' where queue_id = %s",
            [seconds, self.engine.queue_id],
        )

    def evidence(self, holders: Sequence[Holder] | None = None) -> Evidence:
        return read_evidence(read_numbers([self.engine.queue_id]), holders)[self.engine.queue_id]

    def diagnose(self) -> Diagnosis:
        return diagnose(self.evidence())
