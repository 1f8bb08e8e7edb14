"""Undo: what a purge or a deletion removed, put back out of the trash, in small transactions.

Like a redrive, a batch puts its messages back, moves the cursor and counts in one transaction under the lock of the
job's row: whatever dies, each message comes back once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from dlq import jobs, runner, trash, verbs
from dlq.models import Job, Undo
from dlq.trash import MOST_EXAMINED, REMOVERS, Part
from queues.errors import InvalidArgument
from queues.models import Removal

BATCH_MESSAGES = 1_000


@dataclass(frozen=True)
class Preview:
    """What an undo would put back. `parts` are those that were looked at, None when there was no time."""

    job: Job
    removal: Removal
    parts: Sequence[Part] | None

    @property
    def warnings(self) -> list[str]:
        """What to think about first; sentences."""
        parts = self.parts or []
        gone = sum(part.messages for part in parts if part.queue is None)
        taken = sum(part.id_taken for part in parts)
        found = [
            f"{part.queue} is paused: messages will wait there until it is resumed." for part in parts if part.paused
        ]
        found += [f"{part.queue} is closed: what comes back still goes in." for part in parts if part.closed]
        if gone:
            found.append(f"{gone:,} have lost their queue, and stay in the trash.")
        if taken:
            found.append(f"{taken:,} have a deduplication id that another message holds now, and stay in the trash.")
        if self.parts is None:
            found.append("There was no time to look where they go.")
        elif self.removal.left > MOST_EXAMINED:
            found.append(f"Only the first {MOST_EXAMINED:,} were looked at.")
        return list(dict.fromkeys(found))


def preview(noun: str, job_id: int) -> Preview:
    """Look at what a purge or deletion left in the trash. Raises `InvalidArgument` when it cannot be undone."""
    job = _removing_job(noun, job_id)
    if job.is_active:
        raise InvalidArgument(f"{job} is still under way: cancel it first", noun)
    heap = trash.heap_of(job)
    if heap is None:
        raise InvalidArgument(f"nothing of {job} is in the trash", noun)
    return Preview(job, heap.removal, trash.survey(heap.removal.removal_id))


def create(noun: str, job_id: int, *, actor: str, reason: str) -> Undo:
    """Start putting back what a purge or deletion removed; look first with `preview`. Raises `InvalidArgument`."""
    seen = preview(noun, job_id)
    removal_id = seen.removal.removal_id
    if not verbs.hold_removal(removal_id, (settings.APPROVAL_HOURS + 1) * 3600.0):
        raise InvalidArgument(f"nothing of {seen.job} is in the trash", noun)
    undo = Undo(
        removal_id=removal_id,
        undoes_noun=noun,
        undoes_id=job_id,
        queue_name=seen.job.about_queue or "",
        total_estimate=seen.removal.left,
        total_is_exact=True,
        created_by=actor,
        reason=reason,
    )
    return jobs.start(undo)


def cancel(undo_id: int, *, actor: str, reason: str = "") -> bool:
    """Stop after the batch under way; what came back stays, the rest stays in the trash. False when it was over."""
    return jobs.cancel(Undo, undo_id, actor=actor, reason=reason)


def run_slice(undo_id: int, seconds: float = runner.SLICE_SECONDS) -> runner.Ending:
    """What one Celery task does."""
    return runner.run_slice(WORK, undo_id, seconds)


def run_in_foreground(undo_id: int) -> Undo:
    """Run it here, without Celery, until it is over."""
    return runner.run_to_the_end(WORK, undo_id)


def _removing_job(noun: str, job_id: int) -> trash.Remover:
    model = REMOVERS.get(noun)
    job = model._default_manager.filter(pk=job_id).first() if model else None
    if job is None:
        raise InvalidArgument(f"there is no {noun[:40]} {job_id} to undo", "noun")
    return job


def _batch(job: Undo, now: datetime) -> float | None:
    restored, skipped, cursor = verbs.restore(job.removal_id, job.cursor_turn, job.cursor_message_id, BATCH_MESSAGES)
    job.restored += restored
    job.skipped += skipped
    if cursor is None:
        return None
    job.cursor_turn, job.cursor_message_id = cursor
    return 0.0


WORK = runner.Work(Undo, _batch)
