"""Redrives for the API: planned as everybody's are, found by whoever reaches them. For `database.in_thread`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from console.api import reach
from console.api.answers import moment
from console.api.problems import Problem
from console.api.wire.redrives import NewRedrive
from console.api_keys import Key
from dlq import outcomes, plans, redrives
from dlq.models import Job, Redrive
from dlq.plan_options import Options
from dlq.reaching import JobReach
from queues.control import get_queue

NAME = "redrive_"
LOOKED_THROUGH = 1_000  # of redrives that a key does not reach, for one page

VERBS: dict[str, tuple[Callable[..., bool], tuple[str, ...]]] = {
    "pause": (redrives.pause, (Job.State.PAUSED,)),
    "resume": (redrives.resume, (Job.State.PENDING, Job.State.RUNNING)),
    "cancel": (redrives.cancel, (Job.State.CANCELLED,)),
}
"""Each with the states in which what it asks for is so already."""


def start(key: Key, queue: str, wanted: NewRedrive) -> dict[str, Any]:
    """Plan a redrive of a dead-letter queue and run the plan; above the threshold it waits for a second person."""
    holder = get_queue(queue)
    if not holder.is_dead_letter_queue:
        raise Problem("no-dead-letter-queue", f"{queue!r} is no dead-letter queue: nothing in it is dead.")
    chosen = reach.dead_letters_in(key, holder, wanted.filter)
    options = Options(
        target_queue=wanted.target_queue,
        rate_per_second=wanted.max_messages_per_second,
        canary_messages=wanted.canary or 0,
    )
    plan = plans.make(str(chosen), actor=key.actor, reason=wanted.reason, options=options)
    return document(redrives.run(plan.pk, actor=key.actor, reason=wanted.reason))


def find(key: Key, redrive_id: int) -> Redrive:
    """The redrive, if it exists for the key. Raises the problem `job-not-found`."""
    job = Redrive.objects.filter(pk=redrive_id).first()
    if job is None or not JobReach(key.reach).sees(job):
        raise Problem("job-not-found", f"There is no redrive {NAME}{redrive_id}.")
    return job


def show(key: Key, redrive_id: int) -> dict[str, Any]:
    """How far it is, and what became of what it sent."""
    find(key, redrive_id)
    outcomes.refresh(redrive_id, windows=1)
    return document(find(key, redrive_id))


def change(key: Key, redrive_id: int, verb: str) -> dict[str, Any]:
    """Pause, resume or cancel it. What is so already is well; what cannot be is the problem `wrong-state`."""
    find(key, redrive_id)
    act, already = VERBS[verb]
    done = act(redrive_id, actor=key.actor)
    job = find(key, redrive_id)
    if not done and job.state not in already:
        raise _wrong_state(job, verb)
    return document(job)


def set_rate(key: Key, redrive_id: int, rate: int | None) -> dict[str, Any]:
    """Another pace from the next batch on."""
    find(key, redrive_id)
    done = redrives.set_rate(redrive_id, rate, actor=key.actor)
    job = find(key, redrive_id)
    if not done:
        raise _wrong_state(job, "given another rate")
    return document(job)


def browse(key: Key, queue: str | None, state: str | None, limit: int, after: int | None) -> dict[str, Any]:
    """A page, the newest first. It is short, and has a successor, where the key reaches few of many."""
    page: list[Redrive] = []
    within = JobReach(key.reach)
    last = None
    for number, job in enumerate(_newest_first(state, after)):
        if len(page) == limit or number == LOOKED_THROUGH:
            return {"redrives": [document(one) for one in page], "nextCursor": str(last)}
        last = job.pk
        if (queue is None or queue in reach.queues_of(job)) and within.sees(job):
            page.append(job)
    return {"redrives": [document(one) for one in page], "nextCursor": None}


def document(job: Redrive) -> dict[str, Any]:
    """A redrive as it goes over the wire."""
    return {
        "redriveId": f"{NAME}{job.pk}",
        "state": job.state,
        "filter": job.filter_text,
        "queues": job.source_queues,
        "targetQueue": job.target_queue,
        "count": job.total_estimate,
        "countIsExact": job.total_is_exact,
        "moved": job.moved,
        "skipped": job.skipped,
        "skippedWhy": job.skipped_why,
        "outcomes": {
            "succeeded": job.succeeded,
            "failedSame": job.failed_same,
            "failedNew": job.failed_new,
            "gone": job.gone,
            "open": job.open_outcomes,
        },
        "maxMessagesPerSecond": job.rate_per_second,
        "canary": job.choices.canary_messages or None,
        "note": job.note,
        "stoppedBecause": job.stopped_because,
        "error": job.error,
        "reason": job.reason,
        **story(job),
    }


def story(job: Job) -> dict[str, Any]:
    """What every job has: who asked for it, who approved, and when."""
    return {
        "needsApproval": job.needs_approval,
        "approvedBy": job.approved_by,
        "approvalExpiresAt": moment(job.approval_expires_at),
        "createdBy": job.created_by,
        "createdAt": moment(job.created_at),
        "startedAt": moment(job.started_at),
        "finishedAt": moment(job.finished_at),
    }


def _newest_first(state: str | None, after: int | None) -> Iterator[Redrive]:
    found = Redrive.objects.order_by("-redrive_id")
    if state is not None:
        found = found.filter(state=state)
    if after is not None:
        found = found.filter(redrive_id__lt=after)
    return iter(found[: LOOKED_THROUGH + 1])


def _wrong_state(job: Redrive, verb: str) -> Problem:
    detail = f"{NAME}{job.pk} is {job.get_state_display()}: it cannot be {_PAST.get(verb, verb)}."
    return Problem("wrong-state", detail, state=job.state)


_PAST = {"pause": "paused", "resume": "resumed", "cancel": "cancelled"}
