"""Undo of purges and deletions: restore their messages from the trash, in small transactions.

Each batch restores messages, moves the cursor and counts in one transaction under the lock of the job's row, so that
each message is restored once, even when processes die.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dlq.jobs import approval_rules, lifecycle, runner
from dlq.jobs.models import Job, Undo
from dlq.trash import trash
from dlq.trash.trash import MAX_EXAMINED, REMOVERS
from queues import bulk_verbs
from queues.errors import InvalidArgument
from queues.models import TrashBatch
from queues.trash import Part

BATCH_MESSAGES = 1_000


@dataclass(frozen=True)
class Preview:
    """Preview of an undo. `parts` counts messages by queue; None when the time limit was reached."""

    job: Job
    trash_batch: TrashBatch
    parts: Sequence[Part] | None

    @property
    def warnings(self) -> list[str]:
        """List sentences about consequences that a person should know before the undo."""
        parts = self.parts or []
        deleted = sum(part.messages for part in parts if part.queue is None)
        taken = sum(part.id_taken for part in parts)
        sentences = [
            f"{part.queue} is paused: messages will wait there until it is resumed." for part in parts if part.paused
        ]
        sentences += [f"{part.queue} is closed, but restored messages are accepted." for part in parts if part.closed]
        if deleted:
            sentences.append(f"{deleted:,} stay in the trash: their queues were deleted.")
        if taken:
            sentences.append(f"{taken:,} stay in the trash: other messages have their deduplication ids now.")
        if self.parts is None:
            sentences.append("The queues of the messages could not be read within the time limit.")
        elif self.trash_batch.left > MAX_EXAMINED:
            sentences.append(f"Only the first {MAX_EXAMINED:,} were examined.")
        return list(dict.fromkeys(sentences))


def preview(noun: str, job_id: int) -> Preview:
    """Preview the undo of a purge or deletion. Raises `InvalidArgument` when it cannot be undone."""
    job = _removing_job(noun, job_id)
    if job.is_active:
        raise InvalidArgument(f"{job} is still running: cancel it first", noun)
    heap = trash.heap_of(job)
    if heap is None:
        raise InvalidArgument(f"nothing of {job} is in the trash", noun)
    return Preview(job, heap.trash_batch, trash.survey(heap.trash_batch.trash_batch_id))


def create(noun: str, job_id: int, *, actor: str, reason: str, limited: bool = False) -> Undo:
    """Start to restore the messages of a purge or deletion (see `preview`). Raises `InvalidArgument`.

    `limited`: an undo above the operator's limit waits for an approval.
    """
    seen = preview(noun, job_id)
    trash_batch_id = seen.trash_batch.trash_batch_id
    if not bulk_verbs.hold_trash_batch(trash_batch_id, (approval_rules.values()["expiry"] + 1) * 3600.0):
        raise InvalidArgument(f"nothing of {seen.job} is in the trash", noun)
    undo = Undo(
        trash_batch_id=trash_batch_id,
        undoes_noun=noun,
        undoes_id=job_id,
        queue_name=seen.job.about_queue or "",
        total_estimate=seen.trash_batch.left,
        total_is_exact=True,
        created_by=actor,
        reason=reason,
    )
    return lifecycle.start(undo, limited=limited)


def _removing_job(noun: str, job_id: int) -> trash.Remover:
    model = REMOVERS.get(noun)
    job = model._default_manager.filter(pk=job_id).first() if model else None
    if job is None:
        raise InvalidArgument(f"there is no {noun[:40]} {job_id} to undo", "noun")
    return job


def _batch(job: Undo, now: datetime) -> float | None:
    restored, skipped, cursor = bulk_verbs.restore(
        job.trash_batch_id, job.cursor_position, job.cursor_message_id, BATCH_MESSAGES
    )
    job.restored += restored
    job.skipped += skipped
    if cursor is None:
        return None
    job.cursor_position, job.cursor_message_id = cursor
    return 0.0


WORK = runner.Work(Undo, _batch)
cancel, run_slice, run_in_foreground = WORK.cancel, WORK.run_slice, WORK.run_in_foreground
