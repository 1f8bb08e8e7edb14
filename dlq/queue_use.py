"""What of bulk actions is in the way of deleting a queue: jobs that are not over, and purges that can be undone."""

from __future__ import annotations

from django.db.models import Exists, F, OuterRef, Q

from dlq.models import Deletion, Job, Purge, Redrive, Undo
from queues.models import Removal


def uses_of(queue: str) -> list[str]:
    """Jobs about the queue of this name, as people read them; by indexes of jobs, never of messages."""
    of_queue = {
        Redrive: Q(target_queue=queue) | Q(source_queues__contains=[queue]),
        Deletion: Q(source_queues__contains=[queue]),
        Purge: Q(queue_name=queue),
        Undo: Q(queue_name=queue),
    }
    found: list[str] = []
    for model, about in of_queue.items():
        jobs = model.objects.filter(about, state__in=Job.UNDECIDED_STATES)  # type: ignore[attr-defined]
        found += [f"{job} is not over" for job in jobs.order_by("pk")[:10]]
    left = Removal.objects.filter(removal_id=OuterRef("removal_id"), trashed__gt=F("restored") + F("emptied"))
    undoable = Purge.objects.filter(Exists(left), queue_name=queue).order_by("-pk")[:10]
    return found + [f"{job} can be undone until its messages leave the trash" for job in undoable]
