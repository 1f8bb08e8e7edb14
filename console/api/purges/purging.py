"""Purges for the API: a plan, then a job limited to what the plan counted. Called through `database.in_thread`."""

from __future__ import annotations

from functools import partial
from typing import Any

from console.access.api_keys import Key
from console.api.core.problems import Problem
from console.api.core.responses import message_name
from console.api.purges.shapes import NewPurge, PurgeJob, PurgePlan
from console.api.redrives import reach
from dlq.jobs.lifecycle import threshold
from dlq.jobs.models import Job, Purge
from dlq.search.reach import JobReach
from dlq.trash import purges, trash
from dlq.trash.purges import Bounds, Preview
from queues.control.queues import get_queue

NAME = "purge_"


def plan(key: Key, queue: str, states: list[str] | None) -> dict[str, Any]:
    """Count the messages that a purge would remove, and return the bounds that limit the purge to them."""
    seen = _seen(key, queue, states)
    most = threshold("purge", _is_limited(key))
    return PurgePlan.of(
        seen,
        queue=queue,
        states=list(seen.counts),
        count=seen.total,
        through_message_id=message_name(seen.bounds.through_message_id),
        through_dead_letter_id=seen.bounds.through_dead_letter_id,
        trash_hours=trash.hours(),
        needs_approval=most is not None and seen.total > most,
    )


def start(key: Key, queue: str, wanted: NewPurge) -> dict[str, Any]:
    """Start the purge of a plan. Raises the problem `purge-outdated` if more messages match now."""
    seen = _seen(key, queue, wanted.states)
    if "dead" in wanted.states and not wanted.through_dead_letter_id:
        raise Problem.of_field("throughDeadLetterId", "throughDeadLetterId is required where states has dead")
    if seen.total > wanted.count:
        detail = f"{queue} now has {seen.total} messages in these states; the plan counted {wanted.count}."
        raise Problem("purge-outdated", detail, limit=wanted.count, actual=seen.total)
    bounds = Bounds(int(wanted.through_message_id.removeprefix("msg_")), wanted.through_dead_letter_id)
    told = {"actor": key.actor, "reason": wanted.reason, "limited": _is_limited(key)}
    return document(purges.create(queue, wanted.states, bounds, queue, **told))


def purge_all(key: Key, queue: str, reason: str, *, keep_hours: int | None = None) -> Purge:
    """Start a purge of every message of the queue. `keep_hours` is the time in the trash; None: the setting."""
    seen = _seen(key, queue, None)
    told = {"actor": key.actor, "reason": reason, "limited": _is_limited(key), "keep_hours": keep_hours}
    return purges.create(queue, list(seen.counts), seen.bounds, queue, **told)


def show(key: Key, purge_id: int) -> dict[str, Any]:
    """Return the progress of a purge."""
    return document(_find(key, purge_id))


def cancel(key: Key, purge_id: int) -> dict[str, Any]:
    """Stop after the current batch. Purged messages stay in the trash."""
    done = partial(purges.cancel, purge_id, actor=key.actor)
    return document(reach.changed(partial(_find, key, purge_id), done, NAME, "cancelled", (Job.State.CANCELLED,)))


def document(job: Purge) -> dict[str, Any]:
    """Return the document of a purge."""
    return PurgeJob.of(
        job,
        purge_id=f"{NAME}{job.pk}",
        queue=job.queue_name,
        count=job.total_estimate,
        through_message_id=message_name(job.through_message_id),
    )


def _is_limited(key: Key) -> bool:
    return not key.may("purge_any")


def _seen(key: Key, queue: str, states: list[str] | None) -> Preview:
    """Count the messages in these states (None: all).

    Raises `not-reached` if the queue keeps dead letters of queues that the key does not reach.
    """
    found = get_queue(queue)
    chosen = list(purges.states_of(found)) if states is None else states
    if reach.holds_others(key, found):  # also in other states than dead: a consumer may have received dead letters
        detail = f"{queue} also keeps dead letters of queues that this key does not reach: it may not purge them."
        raise Problem("not-reached", detail)
    return purges.preview(queue, chosen)


def _find(key: Key, purge_id: int) -> Purge:
    job = Purge.objects.filter(pk=purge_id).first()
    if job is None or not JobReach(key.reach).has([job.queue_name]):
        raise Problem("job-not-found", f"There is no purge {NAME}{purge_id}.")
    return job
