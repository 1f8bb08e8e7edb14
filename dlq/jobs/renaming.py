"""Renaming of a queue that jobs, masking rules and saved filters name.

An active job that names a queue forbids renaming and deleting it. Masking rules are copied to the new name, and also
kept for the old name, because dead letters have the name of their source queue at that time. Saved filters stay.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from dlq.filters import FilterError, parse
from dlq.jobs.models import Deletion, Job, Purge, Redrive, Undo
from dlq.masking.rules import MaskingRule
from dlq.redrives.plan_models import Plan
from dlq.search.saved_filters import SavedFilter
from queues.control import renaming
from queues.errors import QueueInUse
from queues.models import Queue, TrashBatch

MAX_LISTED = 20
MAX_READ = 2_000  # filters that are read


def undecided_jobs(queue: str) -> list[str]:
    """List the active jobs that name this queue. Reads indexes of jobs, never messages."""
    naming = {
        Redrive: Q(target_queue=queue) | Q(source_queues__contains=[queue]),
        Deletion: Q(source_queues__contains=[queue]),
        Purge: Q(queue_name=queue),
        Undo: Q(queue_name=queue),
    }
    found: list[str] = []
    for model, about in naming.items():
        jobs = model.objects.filter(about, state__in=Job.UNDECIDED_STATES)  # type: ignore[attr-defined]
        found += [str(job) for job in jobs.order_by("pk")[:MAX_LISTED]]
    return found


def uses_of(queue: str) -> list[str]:
    """List the jobs and the trash that forbid deleting a queue, as sentences."""
    left = TrashBatch.objects.filter(
        trash_batch_id=OuterRef("trash_batch_id"), trashed__gt=F("restored") + F("emptied")
    )
    undoable = Purge.objects.filter(Exists(left), queue_name=queue).order_by("-pk")[:MAX_LISTED]
    found = [f"{job} has not ended" for job in undecided_jobs(queue)]
    return found + [f"{job} can be undone until its messages leave the trash" for job in undoable]


def rename_queue(
    name: str, new_name: str, grace_seconds: float = renaming.GRACE_SECONDS, *, actor: str, reason: str = ""
) -> Queue:
    """Rename the queue with its masking rules. Raises `QueueInUse` while a job names it, and the engine's refusals."""
    with transaction.atomic():
        if jobs := undecided_jobs(name):
            raise QueueInUse(f"queue '{name}' is named by {', '.join(jobs)}: wait for the end, or cancel")
        details = {"masks": _copy_masks(name, new_name)}
        return renaming.rename_queue(name, new_name, grace_seconds, actor=actor, reason=reason, details=details)


def _copy_masks(name: str, new_name: str) -> int:
    """Copy the masking rules of a name to another one; return their number."""
    rules = MaskingRule.objects.filter(queue_name=name)
    copies = [
        MaskingRule(part=rule.part, path=rule.path, queue_name=new_name, created_by=rule.created_by) for rule in rules
    ]
    MaskingRule.objects.bulk_create(copies, ignore_conflicts=True)
    return len(copies)


def masks_of(name: str) -> int:
    """Count the masking rules that apply to this queue alone."""
    return MaskingRule.objects.filter(queue_name=name).count()


def filters_naming(name: str, person: str | None = None) -> list[str]:
    """List saved filters and unused plans with this queue name: after a rename they select nothing.

    Private filters of other people are counted for `person`, and named at a terminal (None).
    """
    kept = SavedFilter.objects.filter(text__contains=name).order_by("pk")[:MAX_READ]
    naming = [one for one in kept if _names(one.text, name)]
    seen = [one for one in naming if person is None or one.shared or one.owner == person]
    plans = Plan.objects.filter(filter_text__contains=name, redrives=None).order_by("-pk")[:MAX_READ]
    found = [f"the filter '{one.name}' of {one.owner}" for one in seen]
    found += [f"private filters of other people ({len(naming) - len(seen)})"] if len(naming) > len(seen) else []
    found += [f"plan {one.pk}" for one in plans if _names(one.filter_text, name)]
    return found[:MAX_LISTED]


def _names(text: str, name: str) -> bool:
    try:
        terms = parse(text).terms
    except FilterError:
        return False
    return any(term.key == "queue" and name in term.literals for term in terms)
