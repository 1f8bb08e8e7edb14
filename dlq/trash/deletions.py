"""Deletions: remove the dead letters that a filter selects, in batches by id like a redrive."""

from __future__ import annotations

from datetime import datetime

from dlq.jobs import confirmations, lifecycle, runner
from dlq.jobs.models import Deletion
from dlq.search import selecting
from dlq.search.checked_filter import CheckedFilter
from dlq.trash import trash
from queues import bulk_verbs
from queues.errors import InvalidArgument

BATCH_DEAD_LETTERS = 1_000


def create(
    filter: CheckedFilter,
    upper_bound: int,
    *,
    actor: str,
    reason: str,
    as_of: datetime | None = None,
    confirmed: bool = True,
    limited: bool = False,
) -> Deletion:
    """Start to delete the dead letters that the filter selects, up to a dead-letter id (see `plans.preview`).

    A large deletion must be `confirmed` by a typed word. An empty filter is refused: to delete all dead letters of a
    queue, name the queue. `limited`: a deletion above the operator's limit waits for an approval. Raises
    `InvalidArgument`.
    """
    job = Deletion(created_by=actor, reason=reason, trash_hours=trash.hours())
    fingerprints = selecting.freeze(job, filter, upper_bound, as_of)
    if not job.filter_text:
        raise InvalidArgument("filter is empty: name the dead letters to delete, as in queue:NAME", "filter_text")
    if not confirmed and confirmations.must_confirm(job):
        raise InvalidArgument("Type the word delete.", "confirmation")
    return lifecycle.start(job, limited=limited, fingerprints=fingerprints)


def _batch(job: Deletion, now: datetime) -> float | None:
    selected = selecting.next_ids(job, BATCH_DEAD_LETTERS)
    deleted = bulk_verbs.delete_dead_letters(selected.ids, trash.trash_batch_of(job)) if selected.ids else 0
    job.cursor = selected.cursor
    job.deleted += deleted
    job.skipped += len(selected.ids) - deleted
    return None if job.cursor >= job.upper_bound else 0.0


WORK = runner.Work(Deletion, _batch)
cancel, run_slice, run_in_foreground = WORK.cancel, WORK.run_slice, WORK.run_in_foreground
