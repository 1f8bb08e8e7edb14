"""What of bulk actions, masks and kept filters names a queue: jobs are in the way of a rename, masks go along, filters
stay.

Masks are kept for the old name too: dead letters say in which queue they died, by the name that it had.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q

from dlq.filters import FilterError, parse
from dlq.models import Deletion, Job, MaskingRule, Plan, Purge, Redrive, Undo
from dlq.saved_filters import SavedFilter
from queues import renaming
from queues.errors import QueueInUse
from queues.models import Queue

MOST_LISTED = 20
MOST_READ = 2_000  # filters that are looked through


def rename_queue(
    name: str, new_name: str, grace_seconds: float = renaming.GRACE_SECONDS, *, actor: str, reason: str = ""
) -> Queue:
    """Rename it, and mask what was masked. Raises `QueueInUse` while a job names it, and what the engine refuses."""
    with transaction.atomic():
        if jobs := jobs_naming(name):
            raise QueueInUse(f"queue '{name}' is named by {', '.join(jobs)}: wait for the end, or cancel")
        rules = MaskingRule.objects.filter(queue_name=name)
        details = {"masks": rules.count()}
        queue = renaming.rename_queue(name, new_name, grace_seconds, actor=actor, reason=reason, details=details)
        MaskingRule.objects.bulk_create(
            [
                MaskingRule(part=rule.part, path=rule.path, queue_name=new_name, created_by=rule.created_by)
                for rule in rules
            ],
            ignore_conflicts=True,
        )
        return queue


def jobs_naming(name: str) -> list[str]:
    """Jobs that are not over and go by this name."""
    naming = {
        Redrive: Q(target_queue=name) | Q(source_queues__contains=[name]),
        Deletion: Q(source_queues__contains=[name]),
        Purge: Q(queue_name=name),
        Undo: Q(queue_name=name),
    }
    found: list[str] = []
    for model, about in naming.items():
        jobs = model.objects.filter(about, state__in=Job.UNDECIDED_STATES)  # type: ignore[attr-defined]
        found += [str(job) for job in jobs.order_by("pk")[:MOST_LISTED]]
    return found


def masks_of(name: str) -> int:
    """How many masks are of this queue alone."""
    return MaskingRule.objects.filter(queue_name=name).count()


def filters_naming(name: str, person: str | None = None) -> list[str]:
    """Kept filters and plans that were not run which ask for this name: from then on they select nothing of it.

    What others keep for themselves is counted for `person`, and named for whoever is at a terminal (None).
    """
    kept = SavedFilter.objects.filter(text__contains=name).order_by("pk")[:MOST_READ]
    naming = [one for one in kept if _names(one.text, name)]
    seen = [one for one in naming if person is None or one.shared or one.owner == person]
    plans = Plan.objects.filter(filter_text__contains=name, redrives=None).order_by("-pk")[:MOST_READ]
    found = [f"the filter '{one.name}' of {one.owner}" for one in seen]
    found += [f"filters that others keep for themselves ({len(naming) - len(seen)})"] if len(naming) > len(seen) else []
    found += [f"plan {one.pk}" for one in plans if _names(one.filter_text, name)]
    return found[:MOST_LISTED]


def _names(text: str, name: str) -> bool:
    try:
        terms = parse(text).terms
    except FilterError:
        return False
    return any(term.key == "queue" and name in term.literals for term in terms)
