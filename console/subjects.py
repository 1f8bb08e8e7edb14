"""What addresses are about, as far as rights go: a queue, a stream, a job or a plan by its number."""

from __future__ import annotations

from typing import Any

from dlq import approvals
from dlq.models import Deletion, Job, Plan, Purge, Redrive, Undo
from dlq.reaching import JobThing, place_of
from metrics.alerts.models import Silence
from queues.models import Queue, Tenant
from queues.reach import SYSTEM_TENANT, Bounds, Place, Reach
from queues.renaming import name_now
from queues.stream_models import Stream


class _NamedQueue:
    """Of `queues/<queue:name>/…`."""

    def find(self, *, name: str, **_: Any) -> Place | None:
        queue = Queue.objects.select_related("tenant").filter(name=name).first()
        return None if queue is None else place_of(queue)

    def is_system(self, *, name: str, **_: Any) -> bool:
        owners = Queue.objects.values_list("tenant__name", flat=True)
        owner = owners.filter(name=name).first() or owners.filter(name=name_now(name)).first()
        return owner == SYSTEM_TENANT

    def missing(self, *, name: str, **_: Any) -> str:
        return f"There is no queue called {name}."


class _NamedStream:
    """Of `streams/<queue:name>/…`: streams have tenants and names, as queues do."""

    def find(self, *, name: str, **_: Any) -> Place | None:
        stream = Stream.objects.select_related("tenant").filter(name=name).first()
        return None if stream is None else Place(stream.name, stream.tenant.name)

    def is_system(self, *, name: str, **_: Any) -> bool:
        return Stream.objects.filter(name=name, tenant__name=SYSTEM_TENANT).exists()

    def missing(self, *, name: str, **_: Any) -> str:
        return f"stream '{name}' does not exist"


class _NeverSystem:
    """Jobs that people requested: never Signalbox's own."""

    def is_system(self, **_: Any) -> bool:
        return False


class _Numbered(_NeverSystem):
    """Of `redrives/<row:redrive_id>` and the like."""

    def __init__(self, model: type[Job] | type[Plan], noun: str) -> None:
        self._model, self._noun = model, noun

    def find(self, **named: Any) -> JobThing | None:
        job = self._model._default_manager.filter(pk=self._number(named)).first()
        return None if job is None else JobThing(job)

    def missing(self, **named: Any) -> str:
        return f"There is no {self._noun} {self._number(named)}."

    def _number(self, named: dict[str, Any]) -> int:
        number: int = named[f"{self._noun}_id"]
        return number


class _Awaiting(_NeverSystem):
    """Of `approvals/<noun>/<job_id>/…`."""

    def find(self, *, noun: str, job_id: int, **_: Any) -> JobThing | None:
        model = approvals.MODELS.get(noun)
        job = None if model is None else model._default_manager.filter(pk=job_id).first()
        return None if job is None else JobThing(job)

    def missing(self, *, noun: str, job_id: int, **_: Any) -> str:
        return f"There is no {noun[:40]} {job_id}."


class WholeTenant:
    """A tenant: reached where all of its queues are, those to come included."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        return self._name

    @property
    def is_system(self) -> bool:
        return self._name == SYSTEM_TENANT

    def is_within(self, reach: Reach) -> bool:
        return reach.holds_tenant(self._name)


class _NumberedTenant:
    """Of `tenants/<row:tenant_id>/…`."""

    def find(self, *, tenant_id: int, **_: Any) -> WholeTenant | None:
        name = Tenant.objects.filter(pk=tenant_id).values_list("name", flat=True).first()
        return None if name is None else WholeTenant(name)

    def is_system(self, *, tenant_id: int, **_: Any) -> bool:
        return Tenant.objects.filter(pk=tenant_id, name=SYSTEM_TENANT).exists()

    def missing(self, **_: Any) -> str:
        return "There is no such tenant."


class SilencePattern:
    """What a silence is of: reached where every queue that the pattern can fit is."""

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


class _NumberedSilence(_NeverSystem):
    """Of `alerts/silences/<row:silence_id>/…`."""

    def find(self, *, silence_id: int, **_: Any) -> SilencePattern | None:
        silence = Silence.objects.filter(pk=silence_id).first()
        return None if silence is None else SilencePattern(silence.queue_pattern)

    def missing(self, **_: Any) -> str:
        return "There is no such silence."


QUEUE, STREAM = _NamedQueue(), _NamedStream()
PLAN, REDRIVE = _Numbered(Plan, "plan"), _Numbered(Redrive, "redrive")
AWAITING, TENANT, SILENCE = _Awaiting(), _NumberedTenant(), _NumberedSilence()
DELETION, PURGE, UNDO = _Numbered(Deletion, "deletion"), _Numbered(Purge, "purge"), _Numbered(Undo, "undo")
