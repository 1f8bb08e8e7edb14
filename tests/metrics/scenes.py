"""Scenes for the diagnosis: real verbs make what happened, and then the clock of its traces is set back.

History is what upkeep would have recorded at the time; only its moment is moved. Nothing sleeps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from metrics.diagnosis import Diagnosis, Evidence, diagnose, read_evidence
from queues.counters import read_numbers
from tests.engine import Engine, Row
from tests.races.sessions import until


@dataclass
class Scene:
    """One queue and what happens to it."""

    engine: Engine
    consumer: str = "worker-1"
    _moved: int = field(default=0)

    def send(self, count: int, **options: Any) -> None:
        for number in range(count):
            self.engine.send({"n": number}, **options)

    def work(self, count: int) -> None:
        """Consumers take and finish so many."""
        for row in self.take(count):
            self.engine.ack(row[1])

    def take(self, count: int, consumer: str | None = None) -> list[Row]:
        rows: list[Row] = []
        while len(rows) < count:
            taken = self.engine.receive(count - len(rows), consumer=consumer or self.consumer)
            assert taken, "there is nothing left to take"
            rows += taken
        return rows

    def usual(self, count: int = 60) -> None:
        """An hour of ordinary work, that ended ten minutes ago: what came was done."""
        self.record(3600)
        self.send(count)
        self.work(count)
        self.record(600)

    def record(self, seconds_ago: float) -> None:
        """History has a row of how the queue stands, as if it had stood so then."""
        until(lambda: self.engine.value("select signalbox.record_history()") is not None, "a row of history")
        self.engine.connection.execute(
            "update signalbox.queue_history set bucket_at = clock_timestamp() - %s * interval '1 second'"
            " where queue_id = %s and bucket_at > clock_timestamp() - interval '50 seconds'",
            [seconds_ago, self.engine.queue_id],
        )

    def age(self, seconds: float) -> None:
        """What is ready has been so for longer."""
        self.engine.connection.execute(
            "update signalbox.ready set ready_at = ready_at - %s * interval '1 second' where queue_id = %s",
            [seconds, self.engine.queue_id],
        )

    def consumers_leave(self, seconds: float) -> None:
        """Whoever was seen was seen so long ago."""
        self.engine.connection.execute(
            "update signalbox.consumer set last_seen_at = last_seen_at - %s * interval '1 second' where queue_id = %s",
            [seconds, self.engine.queue_id],
        )

    def evidence(self) -> Evidence:
        return read_evidence(read_numbers([self.engine.queue_id]))[self.engine.queue_id]

    def diagnose(self) -> Diagnosis:
        return diagnose(self.evidence())
