"""Subjects that rights apply to, found from addresses: a queue, a stream, a job or a plan by its number."""

from __future__ import annotations

from typing import Any

from console.access.roles import Subject
from dlq.discards.models import Discard
from dlq.jobs import approvals
from dlq.jobs.models import Deletion, Job, Purge, Redrive, Undo
from dlq.redrives.plan_models import Plan
from dlq.search.reach import JobThing, place_of
from metrics.alerts.models import Silence
from queues.control.renaming import name_now
from queues.models import Queue, Tenant
from queues.reach import SYSTEM_TENANT, Bounds, QueueIdentity, Reach
from queues.stream_models import Stream


def _find_queue(*, name: str, **_: Any) -> QueueIdentity | None:
    queue = Queue.objects.select_related("tenant").filter(name=name).first()
    return None if queue is None else place_of(queue)


def _is_system_queue(*, name: str, **_: Any) -> bool:
    owners = Queue.objects.values_list("tenant__name", flat=True)
    owner = owners.filter(name=name).first() or owners.filter(name=name_now(name)).first()
    return owner == SYSTEM_TENANT


def _find_stream(*, name: str, **_: Any) -> QueueIdentity | None:
    """Return a stream. Streams have tenants and names, as queues do."""
    stream = Stream.objects.select_related("tenant").filter(name=name).first()
    return None if stream is None else QueueIdentity(stream.name, stream.tenant.name)


def _numbered(model: type[Job] | type[Plan], noun: str) -> Subject:
    """Return the finder of the job or plan in `redrives/<row:redrive_id>` and similar addresses."""

    def find(**named: Any) -> JobThing | None:
        job = model._default_manager.filter(pk=named[f"{noun}_id"]).first()
        return None if job is None else JobThing(job)

    return Subject(find, lambda **named: f"There is no {noun} {named[f'{noun}_id']}.")


def _find_awaiting(*, noun: str, job_id: int, **_: Any) -> JobThing | None:
    model = approvals.MODELS.get(noun)
    job = None if model is None else model._default_manager.filter(pk=job_id).first()
    return None if job is None else JobThing(job)


class WholeTenant:
    """A tenant. It is within a person's reach if all its queues are, future ones included."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        return self._name

    @property
    def is_system(self) -> bool:
        return self._name == SYSTEM_TENANT

    def is_within(self, reach: Reach) -> bool:
        return reach.holds_tenant(self._name)


def _find_tenant(*, tenant_id: int, **_: Any) -> WholeTenant | None:
    name = Tenant.objects.filter(pk=tenant_id).values_list("name", flat=True).first()
    return None if name is None else WholeTenant(name)


class SilencePattern:
    """The queues of a silence. They are within a person's reach if every queue that can match the pattern is."""

    is_system = False

    def __init__(self, queue_pattern: str) -> None:
        self._pattern = queue_pattern

    def __str__(self) -> str:
        return self._pattern or "all queues"

    def is_within(self, reach: Reach) -> bool:
        beginning, star, _ = self._pattern.partition("*")
        if reach.is_everything or not beginning:
            return reach.is_everything
        if star:
            return any(one.covers(Bounds(None, beginning)) for one in reach.bounds)
        place = QUEUE.find(name=self._pattern)
        return place is not None and place.is_within(reach)


def _find_silence(*, silence_id: int, **_: Any) -> SilencePattern | None:
    silence = Silence.objects.filter(pk=silence_id).first()
    return None if silence is None else SilencePattern(silence.queue_pattern)


QUEUE = Subject(_find_queue, lambda *, name, **_: f"There is no queue called {name}.", _is_system_queue)
STREAM = Subject(
    _find_stream,
    lambda *, name, **_: f"stream '{name}' does not exist",
    lambda *, name, **_: Stream.objects.filter(name=name, tenant__name=SYSTEM_TENANT).exists(),
)
PLAN, REDRIVE, DELETION = _numbered(Plan, "plan"), _numbered(Redrive, "redrive"), _numbered(Deletion, "deletion")
PURGE, UNDO, DISCARD = _numbered(Purge, "purge"), _numbered(Undo, "undo"), _numbered(Discard, "discard")
AWAITING = Subject(_find_awaiting, lambda *, noun, job_id, **_: f"There is no {noun[:40]} {job_id}.")
TENANT = Subject(
    _find_tenant,
    lambda **_: "There is no such tenant.",
    lambda *, tenant_id, **_: Tenant.objects.filter(pk=tenant_id, name=SYSTEM_TENANT).exists(),
)
SILENCE = Subject(_find_silence, lambda **_: "There is no such silence.")
