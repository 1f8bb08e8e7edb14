"""Dead letters in bulk, inserted without their failed deliveries."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from dlq.jobs.models import Redrive
from dlq.redrives import plans, redrives
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from queues.models import Rewritten
from tests.engine import Engine

# Rows and counters as sending, receiving and `_dead_letter` would leave them; the ids are the log's own.
ADD_DEAD = """
with dead as (
  insert into signalbox.dead_letter (
    message_id, queue_id, source_queue_id, source_queue, payload, priority, sent_at, receive_count,
    first_failed_at, last_failed_at, reason, error_class, error, fingerprint, died_at, redrive_count
  )
  select nextval('signalbox.message_id'), holder.queue_id, source.queue_id, source.name,
    %(payload)s::jsonb || jsonb_build_object('n', n), 0, moment.died_at, 5,
    moment.died_at, moment.died_at, 'runtime_error', %(error_class)s, %(error)s, 'fp-' || %(error_class)s,
    moment.died_at, %(redrive_count)s
  from generate_series(1, %(count)s) n,
    signalbox.queue source,
    (select signalbox._dead_letter_queue(%(queue_id)s) as queue_id) holder,
    (select clock_timestamp() - %(age_seconds)s * interval '1 second' as died_at) moment
  where source.queue_id = %(queue_id)s
  order by n
  returning dead_letter_id, queue_id
), counted as (
  insert into signalbox.counter_delta (queue_id, event, amount)
  select %(queue_id)s, event, count(*) from dead, unnest(array[1, 3, 9]) event group by event
  union all
  select queue_id, 22, count(*) from dead group by queue_id
)
select dead_letter_id from dead order by dead_letter_id
"""


@dataclass
class DeadLetterScene:
    """A queue and its dead letters."""

    engine: Engine

    @property
    def queue(self) -> str:
        return self.engine.queue

    @property
    def filter(self) -> str:
        """Filter that selects all dead letters of the queue."""
        return f"queue:{self.queue}"

    def add_dead(
        self,
        count: int,
        *,
        error_class: str = "TimeoutError",
        error: str = "timed out",
        payload: dict[str, Any] | None = None,
        age_seconds: float = 0,
        redrive_count: int = 0,
    ) -> list[int]:
        """Add dead letters; returns their ids in order."""
        parameters = {
            "queue_id": self.engine.queue_id,
            "count": count,
            "error_class": error_class,
            "error": error,
            "payload": json.dumps(payload or {}),
            "age_seconds": age_seconds,
            "redrive_count": redrive_count,
        }
        return [row[0] for row in self.engine.connection.execute(ADD_DEAD, parameters)]

    def dead(self) -> list[int]:
        """Ids of the messages that are still dead letters."""
        return [
            row[0]
            for row in self.engine.rows(
                "select dead_letter_id from signalbox.dead_letter where source_queue_id = %s order by 1",
                self.engine.queue_id,
            )
        ]

    def redriven(self, redrive_id: int) -> list[int]:
        """Ids of the messages that this redrive sent, one entry for each send."""
        return [
            row[0]
            for row in self.engine.rows(
                "select dead_letter_id from signalbox.redriven where redrive_id = %s order by 1", redrive_id
            )
        ]

    def ready(self) -> int:
        """Tickets that can be received now."""
        return int(self.engine.value("select count(*) from signalbox.ready where queue_id = %s", self.engine.queue_id))


@pytest.fixture
def make_dead_letter_scene(commits: None, make_engine: Callable[..., Engine]) -> Callable[..., DeadLetterScene]:
    """Make queues with given settings."""
    return lambda **settings: DeadLetterScene(make_engine(**settings))


@pytest.fixture
def scene(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> DeadLetterScene:
    return make_dead_letter_scene()


def create_redrive(
    filter_text: str, upper_bound: int, *, actor: str, reason: str, as_of: datetime | None = None, **options: Any
) -> Redrive:
    """Plan a redrive of what the filter selects up to a dead-letter id, and run the plan at once."""
    plan = plans.make(
        check_filter(filter_text),
        actor=actor,
        reason=reason,
        options=Options(**options),
        upper_bound=upper_bound,
        as_of=as_of,
    )
    return redrives.run(plan.pk, actor=actor, reason=reason)


def originals(message_id: int) -> list[Rewritten]:
    """Return what the payload was before each redrive that changed it, the first first."""
    return list(Rewritten.objects.filter(message_id=message_id).order_by("rewritten_at"))
