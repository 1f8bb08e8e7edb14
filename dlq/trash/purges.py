"""Purges: remove the messages that a queue had when the purge was previewed, by state, in small transactions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from dlq.jobs import confirmations, lifecycle, runner
from dlq.jobs.models import Purge
from dlq.trash import trash
from queues import bulk_verbs
from queues.control import queues
from queues.counters.queue_numbers import read_numbers
from queues.dead_letters.ids import newest_id
from queues.errors import InvalidArgument
from queues.messages.lists import newest_message_id
from queues.models import Queue

BATCH_MESSAGES = 2_000
STATES = ("ready", "scheduled", "waiting", "leased", "dead")


@dataclass(frozen=True)
class Bounds:
    """The newest message and the newest dead letter; later ones have higher ids, and are not purged."""

    through_message_id: int
    through_dead_letter_id: int


@dataclass(frozen=True)
class Preview:
    """Counts of the messages that a purge would remove, by state; `create` with these `bounds` removes no others."""

    queue: str
    counts: dict[str, int]
    bounds: Bounds

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def states_of(queue: Queue) -> Sequence[str]:
    """List the states that a purge of this queue can select; only dead-letter queues have dead messages."""
    absent = set() if queue.is_dead_letter_queue else {"dead"}
    return [state for state in STATES if state not in absent | (set() if queue.has_lanes else {"waiting"})]


def preview(queue: str, states: Collection[str]) -> Preview:
    """Count messages by the counters, and set the bounds. Raises `QueueNotFound` and `InvalidArgument`."""
    row = queues.get_queue(queue)
    selected = _checked(row, states)
    bounds = Bounds(newest_message_id(), newest_id())  # before counting: messages that arrive then are not purged
    [numbers] = read_numbers([row.queue_id])
    return Preview(queue, {state: max(0, getattr(numbers, state)) for state in selected}, bounds)


def create(
    queue: str,
    states: Collection[str],
    bounds: Bounds,
    typed_name: str,
    *,
    actor: str,
    reason: str,
    limited: bool = False,
    keep_hours: int | None = None,
) -> Purge:
    """Start a purge. A large one needs the queue's name, as the actor typed it, in `typed_name`.

    `limited`: a purge above the operator's limit waits for an approval. `keep_hours`: time in the trash; None: the
    setting.

    Raises `QueueNotFound` and `InvalidArgument`.
    """
    now = preview(queue, states)  # messages sent later are not purged
    if typed_name != queue and confirmations.asks(Purge.NOUN, now.total):
        raise InvalidArgument(f"type the name of the queue, {queue}, to confirm", "typed_name")
    job = Purge(
        queue_name=queue,
        states=list(now.counts),
        through_message_id=min(bounds.through_message_id, now.bounds.through_message_id),
        through_dead_letter_id=min(bounds.through_dead_letter_id, now.bounds.through_dead_letter_id),
        total_estimate=now.total,
        total_is_exact=True,
        trash_hours=trash.hours() if keep_hours is None else keep_hours,
        created_by=actor,
        reason=reason,
    )
    return lifecycle.start(job, limited=limited)


def _checked(queue: Queue, states: Collection[str]) -> list[str]:
    """Return the states once each, in the order of `STATES`. Raises `InvalidArgument`."""
    allowed = states_of(queue)
    if not states:
        raise InvalidArgument(f"states is empty: choose among {', '.join(allowed)}", "states")
    for state in states:
        if state == "dead" and state not in allowed:
            message = f"dead letters of {queue.name} are in its dead-letter queue: purge that, or delete them"
            raise InvalidArgument(message, "states")
        if state not in allowed:
            raise InvalidArgument(f"states has {state[:40]!r}: it may have {', '.join(allowed)}", "states")
    return [state for state in allowed if state in states]


def _batch(job: Purge, now: datetime) -> float | None:
    removed = bulk_verbs.purge(
        job.queue_name,
        job.states,
        job.through_message_id,
        job.through_dead_letter_id,
        BATCH_MESSAGES,
        trash.trash_batch_of(job),
    )
    job.purged += removed
    return 0.0 if removed else None


WORK = runner.Work(Purge, _batch)
cancel, run_slice, run_in_foreground = WORK.cancel, WORK.run_slice, WORK.run_in_foreground
