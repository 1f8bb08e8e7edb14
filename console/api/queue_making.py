"""Making, changing and deleting queues on behalf of a key, which stays within its tenant and its prefix."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from console.api.problems import Problem, problem_of
from console.api.queue_documents import document
from console.api_keys import Key
from dlq import queue_use
from queues import control, deleting
from queues.errors import InvalidArgument
from queues.models import Queue
from queues.reach import check_reserved
from queues.renaming import name_now
from queues.tenant_names import check_beginning


def create(key: Key, wanted: Any) -> tuple[int, dict[str, Any]]:
    """201 and the new queue, or 200 and the one that is there with equal settings."""
    tenant = wanted.tenant or key.tenant
    settings = wanted.settings
    _check_reach(key, wanted.name, tenant or "default")
    _check_dead_letter_queue(key, settings)
    with transaction.atomic():
        queues = Queue.objects.select_related("tenant")
        there = queues.filter(name=wanted.name).first() or queues.filter(name=name_now(wanted.name)).first()
        if there is not None and not key.reaches(wanted.name, there.tenant.name):
            raise Problem("queue-exists", f"The name {wanted.name!r} is taken.", errors=[("name", "name is taken")])
        try:
            queue, made = control.make_queue(
                wanted.name, settings, tenant=wanted.tenant if there else tenant, actor=key.actor
            )
        except InvalidArgument as error:
            raise _differs(error) if there else error from error
        return (201 if made else 200), document(queue)


def configure(key: Key, name: str, changes: Any) -> dict[str, Any]:
    """The queue after its change. Pausing notes who did it, as in the console."""
    settings = changes.settings
    _check_dead_letter_queue(key, settings)
    paused = settings.pop("paused", None)
    with transaction.atomic():
        queue = control.configure_queue(name, settings, actor=key.actor)
        if paused is not None:
            change = control.pause_queue if paused else control.resume_queue
            change(name, actor=key.actor)
            queue = control.get_queue(name)
        return document(queue)


def delete(key: Key, name: str) -> None:
    """Delete the queue, if it is empty and nothing uses it."""
    if uses := queue_use.uses_of(name):
        raise Problem("queue-in-use", f"queue {name!r} is in use: {'; '.join(uses)}", uses=uses)
    deleting.delete_queue(name, actor=key.actor)


def _differs(error: InvalidArgument) -> Problem:
    """What was asked for is well formed, or it would not have come so far: the queue that is there has it otherwise."""
    inside = problem_of(error)
    return Problem("queue-exists", inside.detail, errors=inside.errors)


def _check_reach(key: Key, name: str, tenant: str) -> None:
    check_reserved(name, tenant)
    if not name.startswith(key.prefix):
        detail = f"name must begin with {key.prefix!r}: the key {key.name} reaches no others"
        raise Problem.of_field("name", detail, kind="out-of-reach")
    if key.tenant not in (None, tenant):
        detail = f"tenant must be {key.tenant!r}: the key {key.name} reaches no other"
        raise Problem.of_field("tenant", detail, kind="out-of-reach")
    if key.tenant is not None:
        _check_beginning("name", name, tenant)


def _check_dead_letter_queue(key: Key, settings: dict[str, Any]) -> None:
    """A key reaches the dead letters of its queues: naming another's queue for them would open that one to it."""
    name = settings.get("dead_letter_queue")
    if name is not None and not name.startswith(key.prefix):
        detail = f"deadLetterQueue must begin with {key.prefix!r}: the key {key.name} reaches no others"
        raise Problem.of_field("deadLetterQueue", detail, kind="out-of-reach")
    if name is not None and key.tenant is not None:
        _check_beginning("deadLetterQueue", name, key.tenant)


def _check_beginning(field: str, name: str, tenant: str) -> None:
    try:
        check_beginning(name, tenant, field)
    except InvalidArgument as error:
        raise Problem.of_field(field, str(error), kind="out-of-reach") from error
