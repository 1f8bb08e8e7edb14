"""Redrives for the API: planned as on pages, visible to keys that reach them. Called through `database.in_thread`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from console.access.api_keys import Key
from console.api.core.problems import Problem
from console.api.redrives import reach
from console.api.redrives.shapes import NewRedrive, Outcomes, RedriveJob
from dlq.jobs.models import Job, Redrive
from dlq.redrives import outcomes, plans, redrives
from dlq.redrives.plan_options import Options
from dlq.search.reach import JobReach
from queues.control.queues import get_queue

NAME = "redrive_"
LOOKED_THROUGH = 1_000  # a page reads at most this many redrives

VERBS: dict[str, tuple[Callable[..., bool], str, tuple[str, ...]]] = {
    "pause": (redrives.pause, "paused", (Job.State.PAUSED,)),
    "resume": (redrives.resume, "resumed", (Job.State.PENDING, Job.State.RUNNING)),
    "cancel": (redrives.cancel, "cancelled", (Job.State.CANCELLED,)),
}
"""Verb -> (its function, its participle, the states in which the verb has nothing to do)."""


def start(key: Key, queue: str, wanted: NewRedrive) -> dict[str, Any]:
    """Plan a redrive of a dead-letter queue and start it; above the threshold it waits for an approval."""
    holder = get_queue(queue)
    if not holder.is_dead_letter_queue:
        raise Problem("no-dead-letter-queue", f"{queue!r} is not a dead-letter queue.")
    filter = reach.dead_letters_in(key, holder, wanted.filter)
    options = Options.with_canary(
        target_queue=wanted.target_queue,
        rate_per_second=wanted.max_messages_per_second,
        canary_messages=wanted.canary,
    )
    plan = plans.make(filter, actor=key.actor, reason=wanted.reason, options=options)
    return document(redrives.run(plan.pk, actor=key.actor, reason=wanted.reason))


def find(key: Key, redrive_id: int) -> Redrive:
    """Return the redrive. Raises `job-not-found` if it does not exist or the key does not reach it."""
    job = Redrive.objects.filter(pk=redrive_id).first()
    if job is None or not JobReach(key.reach).sees(job):
        raise Problem("job-not-found", f"There is no redrive {NAME}{redrive_id}.")
    return job


def show(key: Key, redrive_id: int) -> dict[str, Any]:
    """Return the progress and the outcomes of a redrive."""
    find(key, redrive_id)
    outcomes.refresh(redrive_id, windows=1)
    return document(find(key, redrive_id))


def change(key: Key, redrive_id: int, verb: str) -> dict[str, Any]:
    """Pause, resume or cancel the redrive, and return its document."""
    act, past, already = VERBS[verb]
    done = partial(act, redrive_id, actor=key.actor)
    return document(reach.changed(partial(find, key, redrive_id), done, NAME, past, already))


def set_rate(key: Key, redrive_id: int, rate: int | None) -> dict[str, Any]:
    """Set the rate limit of the redrive, which applies from the next batch on; None: no limit."""
    done = partial(redrives.set_rate, redrive_id, rate, actor=key.actor)
    return document(reach.changed(partial(find, key, redrive_id), done, NAME, "given another rate"))


def browse(key: Key, queue: str | None, state: str | None, limit: int, after: int | None) -> dict[str, Any]:
    """Return a page of redrives, newest first. A page can be short and still have a next page if the key reaches few
    redrives.
    """
    found = Redrive.objects.order_by("-redrive_id")
    if state is not None:
        found = found.filter(state=state)
    if after is not None:
        found = found.filter(redrive_id__lt=after)
    page: list[Redrive] = []
    within = JobReach(key.reach)
    last = None
    for number, job in enumerate(found[: LOOKED_THROUGH + 1]):
        if len(page) == limit or number == LOOKED_THROUGH:
            return {"redrives": [document(one) for one in page], "nextCursor": str(last)}
        last = job.pk
        if (queue is None or queue in reach.queues_of(job)) and within.sees(job):
            page.append(job)
    return {"redrives": [document(one) for one in page], "nextCursor": None}


def document(job: Redrive) -> dict[str, Any]:
    """Return the document of a redrive."""
    return RedriveJob.of(
        job,
        redrive_id=f"{NAME}{job.pk}",
        filter=job.filter_text,
        queues=job.source_queues,
        count=job.total_estimate,
        count_is_exact=job.total_is_exact,
        outcomes=Outcomes.of(job, open=job.open_outcomes),
        max_messages_per_second=job.rate_per_second,
        canary=job.canary.get("size"),
    )
