"""Purges: a queue emptied of what it held at the moment somebody looked, state by state, in small transactions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from dlq import jobs, runner, selecting, trash, verbs
from dlq.finding import Query
from dlq.models import Purge
from queues import control
from queues.counters import QueueNumbers, read_numbers
from queues.errors import InvalidArgument
from queues.models import Queue

BATCH_MESSAGES = 2_000
STATES = ("ready", "scheduled", "waiting", "leased", "dead")


@dataclass(frozen=True)
class Bounds:
    """The last message and the last dead letter that exist now: later ones have higher ids, and stay."""

    through_message_id: int
    through_dead_letter_id: int


@dataclass(frozen=True)
class Preview:
    """How many messages of each state a purge would remove. Give `bounds` to `create` to remove no others."""

    queue: str
    counts: dict[str, int]
    bounds: Bounds

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def states_of(queue: Queue) -> Sequence[str]:
    """The states in which this queue has messages to purge: dead ones are in the dead-letter queue."""
    absent = set() if queue.is_dead_letter_queue else {"dead"}
    return [state for state in STATES if state not in absent | (set() if queue.group_limit else {"waiting"})]


def preview(queue: str, states: Collection[str]) -> Preview:
    """Count by counters, and freeze the bounds. Raises `QueueNotFound` and `InvalidArgument`."""
    found = control.get_queue(queue)
    chosen = _checked(found, states)
    bounds = _bounds()  # first: what comes while counting is not purged
    [numbers] = read_numbers([found.queue_id])
    return Preview(queue, {state: _depth(numbers, state) for state in chosen}, bounds)


def create(queue: str, states: Collection[str], bounds: Bounds, typed_name: str, *, actor: str, reason: str) -> Purge:
    """Start a purge; `typed_name` is what the actor typed to confirm and must be the queue's name, when it is large.

    Raises `QueueNotFound` and `InvalidArgument`.
    """
    found = control.get_queue(queue)
    chosen = _checked(found, states)
    now = _bounds()  # nobody purges what is yet to be sent
    [numbers] = read_numbers([found.queue_id])
    if typed_name != queue and trash.must_confirm(sum(_depth(numbers, state) for state in chosen)):
        raise InvalidArgument(f"type the name of the queue, {queue}, to confirm", "typed_name")
    job = Purge(
        queue_name=queue,
        states=chosen,
        through_message_id=min(bounds.through_message_id, now.through_message_id),
        through_dead_letter_id=min(bounds.through_dead_letter_id, now.through_dead_letter_id),
        total_estimate=sum(_depth(numbers, state) for state in chosen),
        total_is_exact=True,
        trash_hours=trash.hours(),
        created_by=actor,
        reason=reason,
    )
    return jobs.start(job)


def cancel(purge_id: int, *, actor: str, reason: str = "") -> bool:
    """Stop after the batch under way; what is gone is in the trash. False when it was over already."""
    return jobs.cancel(Purge, purge_id, actor=actor, reason=reason)


def run_slice(purge_id: int, seconds: float = runner.SLICE_SECONDS) -> runner.Ending:
    """What one Celery task does."""
    return runner.run_slice(WORK, purge_id, seconds)


def run_in_foreground(purge_id: int) -> Purge:
    """Run it here, without Celery, until it is over."""
    return runner.run_to_the_end(WORK, purge_id)


def _checked(queue: Queue, states: Collection[str]) -> list[str]:
    """The states in the order of STATES, each once."""
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


def _depth(numbers: QueueNumbers, state: str) -> int:
    depth: int = getattr(numbers, state)
    return max(0, depth)


def _bounds() -> Bounds:
    [(last,)] = Query("select coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0)", []).rows()
    return Bounds(int(last), selecting.newest_id())


def _batch(job: Purge, now: datetime) -> float | None:
    removed = verbs.purge(
        job.queue_name,
        job.states,
        job.through_message_id,
        job.through_dead_letter_id,
        BATCH_MESSAGES,
        trash.removal_of(job),
    )
    job.purged += removed
    return 0.0 if removed else None


WORK = runner.Work(Purge, _batch)
