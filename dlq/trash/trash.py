"""The trash: messages of a purge or a deletion stay there for some hours, in one batch of the engine for each job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings

from dlq.jobs.models import Deletion, Job, Purge
from queues import bulk_verbs
from queues.database.time_limits import COUNT_MILLISECONDS, OutOfTime, time_limit
from queues.models import TrashBatch
from queues.trash import Part, read_parts

Remover = Purge | Deletion
REMOVERS: dict[str, type[Purge] | type[Deletion]] = {"purge": Purge, "deletion": Deletion}
MAX_EXAMINED = 10_000
MAX_LISTED = 200


def hours() -> int:
    """Return the hours for which removed messages can be restored; 0: not at all."""
    return int(settings.TRASH_HOURS)


def trash_batch_of(job: Remover) -> int | None:
    """Return the trash batch of the job, opened with its first batch; None: messages are deleted permanently."""
    if job.trash_batch_id is None and job.trash_hours:
        job.trash_batch_id = bulk_verbs.open_trash_batch(job.trash_hours * 3600.0)
    return job.trash_batch_id


@dataclass(frozen=True)
class Heap:
    """Messages in the trash that one job removed."""

    job: Job
    trash_batch: TrashBatch


def heaps() -> Sequence[Heap]:
    """List the contents of the trash by job, the next to expire first. Two queries for each kind of job."""
    full = TrashBatch.objects.extra(where=["trashed > restored + emptied"])  # the predicate of its index, word for word
    batches = {batch.trash_batch_id: batch for batch in full.order_by("expires_at")[:MAX_LISTED]}
    jobs: Iterable[Remover] = (
        job for model in REMOVERS.values() for job in model.objects.filter(trash_batch_id__in=batches)
    )
    found = [Heap(job, batches[job.trash_batch_id]) for job in jobs if job.trash_batch_id]
    return sorted(found, key=lambda heap: heap.trash_batch.expires_at)


def heap_of(job: Job) -> Heap | None:
    """Return the contents of one job; None when the trash has no message of it."""
    trash_batch_id = getattr(job, "trash_batch_id", None)
    batch = TrashBatch.objects.filter(trash_batch_id=trash_batch_id).first() if trash_batch_id else None
    return Heap(job, batch) if batch and batch.left > 0 else None


def survey(trash_batch_id: int) -> Sequence[Part] | None:
    """Return the destinations of the first ten thousand messages; None when there was no time."""
    try:
        with time_limit(COUNT_MILLISECONDS):
            return read_parts(trash_batch_id, MAX_EXAMINED)
    except OutOfTime:
        return None
