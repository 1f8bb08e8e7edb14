"""The trash keeps the messages that purges and deletions removed for TRASH_HOURS, in one trash batch per job."""

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
    """Return the hours for which removed messages are kept in the trash; 0: messages are removed for good."""
    return int(settings.TRASH_HOURS)


def trash_batch_of(job: Remover) -> int | None:
    """Return the trash batch of a job, and open it if needed; None when messages are removed for good."""
    if job.trash_batch_id is None and job.trash_hours:
        job.trash_batch_id = bulk_verbs.open_trash_batch(job.trash_hours * 3600.0)
    return job.trash_batch_id


@dataclass(frozen=True)
class Heap:
    """The messages in the trash that one job removed."""

    job: Job
    trash_batch: TrashBatch


def heaps() -> Sequence[Heap]:
    """List the contents of the trash by job, ordered by their expiry."""
    full = TrashBatch.objects.extra(where=["trashed > restored + emptied"])  # the predicate of its index, word for word
    batches = {batch.trash_batch_id: batch for batch in full.order_by("expires_at")[:MAX_LISTED]}
    jobs: Iterable[Remover] = (
        job for model in REMOVERS.values() for job in model.objects.filter(trash_batch_id__in=batches)
    )
    found = [Heap(job, batches[job.trash_batch_id]) for job in jobs if job.trash_batch_id]
    return sorted(found, key=lambda heap: heap.trash_batch.expires_at)


def heap_of(job: Job) -> Heap | None:
    """Return the messages of one job in the trash; None when there are none."""
    trash_batch_id = getattr(job, "trash_batch_id", None)
    batch = TrashBatch.objects.filter(trash_batch_id=trash_batch_id).first() if trash_batch_id else None
    return Heap(job, batch) if batch and batch.left > 0 else None


def survey(trash_batch_id: int) -> Sequence[Part] | None:
    """Count the first `MAX_EXAMINED` messages of a trash batch by queue; None when the time limit was reached."""
    try:
        with time_limit(COUNT_MILLISECONDS):
            return read_parts(trash_batch_id, MAX_EXAMINED)
    except OutOfTime:
        return None
