"""Redrives: dead letters that a filter selects, sent again at a pace, each exactly once.

A batch moves its messages, the cursor and the counts in one transaction under the lock of the redrive's row. A
process that dies in the middle undoes all of it or none, and the next one goes on at the cursor.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from dlq import jobs, runner, selecting, verbs
from dlq.models import MAX_RATE_PER_SECOND, Job, Redrive
from dlq.throttle import Pace
from queues import control
from queues.errors import InvalidArgument, QueueClosed

BATCH_MESSAGES = 500


def create(
    filter_text: str,
    upper_bound: int,
    *,
    actor: str,
    reason: str,
    rate_per_second: int | None = None,
    target_queue: str | None = None,
    as_of: datetime | None = None,
) -> Redrive:
    """Start a redrive of what the filter selects up to a dead-letter id; None as rate is as fast as it goes.

    Ages in the filter count up to `as_of`, which is now unless a preview froze it. Raises `FilterError`,
    `InvalidArgument`, and for the target `QueueNotFound` and `QueueClosed`.
    """
    _check_rate(rate_per_second)
    if target_queue is not None:
        check_target(target_queue)
    job = Redrive(created_by=actor, reason=reason, rate_per_second=rate_per_second, target_queue=target_queue)
    selecting.freeze(job, filter_text, upper_bound, as_of)
    return jobs.start(job)


def pause(redrive_id: int, *, actor: str, reason: str = "") -> bool:
    """Stop after the batch under way. False when it was not pending or running."""
    return jobs.pause(Redrive, redrive_id, actor=actor, reason=reason)


def resume(redrive_id: int, *, actor: str, reason: str = "") -> bool:
    """Go on where it stopped, and no faster for having rested. False when it was not paused."""
    return jobs.resume(Redrive, redrive_id, actor=actor, reason=reason, tokens=0.0, burst_tokens=0.0, refilled_at=None)


def cancel(redrive_id: int, *, actor: str, reason: str = "") -> bool:
    """Stop for good; the rest stays dead. False when it was over already."""
    return jobs.cancel(Redrive, redrive_id, actor=actor, reason=reason)


def set_rate(redrive_id: int, rate_per_second: int | None, *, actor: str, reason: str = "") -> bool:
    """Change the pace from the next batch on. False when the redrive was over already."""
    _check_rate(rate_per_second)
    with transaction.atomic():
        active = Redrive.objects.select_for_update().filter(pk=redrive_id, state__in=Job.ACTIVE_STATES).first()
        if active is None:
            return False
        change = {"before": active.rate_per_second, "after": rate_per_second}
        active.rate_per_second = rate_per_second
        active.save(update_fields=["rate_per_second"])
        jobs.record(active, "set_rate", actor, reason, rate_per_second=change)
        return True


def run_slice(redrive_id: int, seconds: float = runner.SLICE_SECONDS) -> runner.Ending:
    """What one Celery task does."""
    return runner.run_slice(WORK, redrive_id, seconds)


def run_in_foreground(redrive_id: int) -> Redrive:
    """Run it here, without Celery, until it is over or paused."""
    return runner.run_to_the_end(WORK, redrive_id)


def check_target(target_queue: str) -> None:
    """Refuse a queue that cannot take messages: unknown, closed, or one of dead letters."""
    queue = control.get_queue(target_queue)
    if queue.is_dead_letter_queue:
        raise InvalidArgument(f"'{target_queue}' is a dead-letter queue: only what dies goes there", "target_queue")
    if queue.closed:
        raise QueueClosed(f"queue '{target_queue}' is closed: it accepts no messages")


def _check_rate(rate_per_second: int | None) -> None:
    if rate_per_second is not None and not 1 <= rate_per_second <= MAX_RATE_PER_SECOND:
        raise InvalidArgument(
            f"rate_per_second is {rate_per_second}: it must be from 1 to {MAX_RATE_PER_SECOND}", "rate_per_second"
        )


def _batch(job: Redrive, now: datetime) -> float | None:
    pace = _pace(job, now)
    allowed = min(BATCH_MESSAGES, pace.allowed) if pace else BATCH_MESSAGES
    moved = 0
    if allowed:
        chosen = selecting.next_ids(job, allowed)
        moved = verbs.redrive(chosen.ids, job.target_queue, job.redrive_id, job.created_by) if chosen.ids else 0
        job.cursor = chosen.cursor
        job.moved += moved
        job.skipped += len(chosen.ids) - moved
    if pace:
        pace = pace.without(moved)
        job.tokens, job.burst_tokens, job.refilled_at = pace.tokens, pace.burst_tokens, pace.refilled_at
    if job.cursor >= job.upper_bound:
        return None
    return pace.seconds_to_next if pace else 0.0


def _pace(job: Redrive, now: datetime) -> Pace | None:
    """How fast the job may go now; None without a rate. A job that starts, or rested, starts from nothing."""
    if job.rate_per_second is None:
        return None
    return Pace(job.rate_per_second, job.tokens, job.burst_tokens, job.refilled_at or now).refilled(now)


WORK = runner.Work(Redrive, _batch)
