"""Purges for the API: a plan, then just that. For `database.in_thread`."""

from __future__ import annotations

from typing import Any

from console.api import reach
from console.api.answers import message_name
from console.api.problems import Problem
from console.api.redriving import story
from console.api.wire.purges import NewPurge
from console.api_keys import Key
from dlq import purge, trash
from dlq.models import Job, Purge
from dlq.purge import Bounds, Preview
from dlq.reaching import JobReach
from dlq.thresholds import threshold
from queues.control import get_queue

NAME = "purge_"


def plan(key: Key, queue: str, states: list[str] | None) -> dict[str, Any]:
    """What a purge would remove, by counters, and the bounds that hold it to that."""
    seen = _seen(key, queue, states)
    most = threshold("purge")
    return {
        "queue": queue,
        "states": list(seen.counts),
        "count": seen.total,
        "counts": seen.counts,
        "throughMessageId": message_name(seen.bounds.through_message_id),
        "throughDeadLetterId": seen.bounds.through_dead_letter_id,
        "trashHours": trash.hours(),
        "needsApproval": most is not None and seen.total > most,
    }


def start(key: Key, queue: str, wanted: NewPurge) -> dict[str, Any]:
    """Purge what a plan showed; the problem `purge-outdated` when there is more by now."""
    seen = _seen(key, queue, wanted.states)
    if "dead" in wanted.states and not wanted.through_dead_letter_id:
        raise Problem.of_field("throughDeadLetterId", "throughDeadLetterId is required where states has dead")
    if seen.total > wanted.count:
        detail = f"{queue} holds {seen.total} messages in these states by now, and {wanted.count} were looked at."
        raise Problem("purge-outdated", detail, limit=wanted.count, actual=seen.total)
    bounds = Bounds(int(wanted.through_message_id.removeprefix("msg_")), wanted.through_dead_letter_id)
    return document(purge.create(queue, wanted.states, bounds, queue, actor=key.actor, reason=wanted.reason))


def show(key: Key, purge_id: int) -> dict[str, Any]:
    """How far it is."""
    return document(_find(key, purge_id))


def cancel(key: Key, purge_id: int) -> dict[str, Any]:
    """Stop after the batch under way; what is gone is in the trash."""
    _find(key, purge_id)
    done = purge.cancel(purge_id, actor=key.actor)
    job = _find(key, purge_id)
    if not done and job.state != Job.State.CANCELLED:
        detail = f"{NAME}{job.pk} is {job.get_state_display()}: it cannot be cancelled."
        raise Problem("wrong-state", detail, state=job.state)
    return document(job)


def document(job: Purge) -> dict[str, Any]:
    """A purge as it goes over the wire."""
    return {
        "purgeId": f"{NAME}{job.pk}",
        "queue": job.queue_name,
        "states": job.states,
        "state": job.state,
        "count": job.total_estimate,
        "purged": job.purged,
        "throughMessageId": message_name(job.through_message_id),
        "throughDeadLetterId": job.through_dead_letter_id,
        "trashHours": job.trash_hours,
        "error": job.error,
        "reason": job.reason,
        **story(job),
    }


def _seen(key: Key, queue: str, states: list[str] | None) -> Preview:
    """Raises the problem `not-reached` where dead letters are kept, among others, of queues beyond the key's prefix."""
    found = get_queue(queue)
    chosen = list(purge.states_of(found)) if states is None else states
    if reach.holds_others(key, found):  # dead, or received there
        detail = f"{queue} also keeps dead letters of queues that this key does not reach: it may not purge them."
        raise Problem("not-reached", detail)
    return purge.preview(queue, chosen)


def _find(key: Key, purge_id: int) -> Purge:
    job = Purge.objects.filter(pk=purge_id).first()
    if job is None or not JobReach(key.reach).has([job.queue_name]):
        raise Problem("job-not-found", f"There is no purge {NAME}{purge_id}.")
    return job
