"""Deletions: dead letters that a filter selects, removed. The same walk as a redrive's, with another end."""

from __future__ import annotations

from datetime import datetime

from dlq import jobs, runner, selecting, trash, verbs
from dlq.models import Deletion
from queues.errors import InvalidArgument

BATCH_DEAD_LETTERS = 1_000


def create(
    filter_text: str,
    upper_bound: int,
    *,
    actor: str,
    reason: str,
    as_of: datetime | None = None,
    confirmed: bool = True,
) -> Deletion:
    """Start deleting what the filter selects up to a dead-letter id; look first with `plans.preview`.

    A large one has to be `confirmed`, by a word that was typed. An empty filter is refused: whoever means everything of
    a queue names the queue. Raises `FilterError` and `InvalidArgument`.
    """
    job = Deletion(created_by=actor, reason=reason, trash_hours=trash.hours())
    selecting.freeze(job, filter_text, upper_bound, as_of)
    if not job.filter_text:
        raise InvalidArgument("filter is empty: say which dead letters to delete", "filter_text")
    if not confirmed and trash.must_confirm(job.total_estimate if job.total_is_exact else None):
        raise InvalidArgument("Type the word delete.", "confirmation")
    return jobs.start(job)


def cancel(deletion_id: int, *, actor: str, reason: str = "") -> bool:
    """Stop after the batch under way; what is gone is in the trash. False when it was over already."""
    return jobs.cancel(Deletion, deletion_id, actor=actor, reason=reason)


def run_slice(deletion_id: int, seconds: float = runner.SLICE_SECONDS) -> runner.Ending:
    """What one Celery task does."""
    return runner.run_slice(WORK, deletion_id, seconds)


def run_in_foreground(deletion_id: int) -> Deletion:
    """Run it here, without Celery, until it is over."""
    return runner.run_to_the_end(WORK, deletion_id)


def _batch(job: Deletion, now: datetime) -> float | None:
    chosen = selecting.next_ids(job, BATCH_DEAD_LETTERS)
    deleted = verbs.delete_dead_letters(chosen.ids, trash.removal_of(job)) if chosen.ids else 0
    job.cursor = chosen.cursor
    job.deleted += deleted
    job.skipped += len(chosen.ids) - deleted
    return None if job.cursor >= job.upper_bound else 0.0


WORK = runner.Work(Deletion, _batch)
