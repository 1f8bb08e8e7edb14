"""Entry point to erasures: preview, start, pause, cancel and run them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings

from dlq.erasure import target as targets
from dlq.erasure.batches import batch, fix_bounds, scope_of
from dlq.erasure.documents import Documents, StoreAway
from dlq.erasure.locations import WALKS, Walk
from dlq.erasure.models import MAX_ROWS_PER_SECOND, USUAL_ROWS_PER_SECOND, Erasure
from dlq.erasure.target import Target
from dlq.jobs import lifecycle, runner
from queues.database.time_limits import OutOfTime, time_limit
from queues.errors import InvalidArgument
from queues.models import Queue, Tenant

WORD = "erase"
MAX_QUEUES = 100
SAMPLE_ROWS = 5_000
SAMPLE_MILLISECONDS = 2_000


@dataclass(frozen=True)
class ErasureRequest:
    """Request for an erasure. `live` is the treatment of unsettled messages (docs/operate/erasure.md)."""

    path: str
    value: str = field(repr=False)
    part: str = "payload"
    live: str = "hold"
    queues: Sequence[str] = ()
    tenant: str = ""
    since: datetime | None = None
    until: datetime | None = None
    rows_per_second: int = USUAL_ROWS_PER_SECOND

    @property
    def target(self) -> Target:
        return targets.read(self.part, self.path, self.value)


@dataclass(frozen=True)
class Sample:
    """Sample of one location: the first `looked` of about `rows` rows, of which `found` have the value."""

    place: str
    words: str
    rows: int
    looked: int
    found: int
    whole: bool
    in_time: bool = True


@dataclass(frozen=True)
class Preview:
    """Samples of all locations, and the duration of the erasure at the requested rate."""

    samples: Sequence[Sample]
    seconds: float

    @property
    def rows(self) -> int:
        return sum(sample.rows for sample in self.samples)

    @property
    def found(self) -> int:
        return sum(sample.found for sample in self.samples)

    @property
    def is_whole(self) -> bool:
        return all(sample.whole for sample in self.samples)


def preview(request: ErasureRequest) -> Preview:
    """Search the beginning of each location within seconds. Raises `InvalidArgument`."""
    job = _job(request)
    samples = [_sample(job, request.target, walk) for walk in WALKS if walk.name != "trash_again"]
    return Preview(samples, sum(sample.rows for sample in samples) / job.rows_per_second)


def create(
    request: ErasureRequest,
    *,
    actor: str,
    reason: str,
    confirmation: str = "",
    only_counts: bool = False,
    wake: bool = True,
) -> Erasure:
    """Start an erasure; with `only_counts`, the same search without changes. Raises `InvalidArgument`."""
    if not reason.strip():
        raise InvalidArgument("reason is empty: name the person who asked for the erasure, for the audit", "reason")
    if not only_counts and confirmation != WORD:
        raise InvalidArgument(f"Type the word {WORD}.", "confirmation")
    job = _job(request)
    job.only_counts, job.created_by, job.reason = only_counts, actor, reason
    job.total_estimate = sum(walk.estimate() for walk in WALKS)
    return lifecycle.start(job, wake=wake)


def _job(request: ErasureRequest) -> Erasure:
    """Make an unsaved job from a valid request, bounded by the newest message. Raises `InvalidArgument`."""
    target = request.target
    if request.live not in Erasure.Live.values:
        raise InvalidArgument(f"live is {request.live[:40]!r}: it must be hold, redact or delete", "live")
    if not 1 <= request.rows_per_second <= MAX_ROWS_PER_SECOND:
        raise InvalidArgument(f"rows_per_second must be from 1 to {MAX_ROWS_PER_SECOND}", "rows_per_second")
    if request.since and request.until and request.since >= request.until:
        raise InvalidArgument("until must be later than since", "until")
    job = Erasure(
        part=target.part,
        path=target.path,
        value=target.value,
        value_digest=target.digest(settings.SECRET_KEY),
        **{name: getattr(request, name) for name in ("live", "since", "until", "rows_per_second")},
        queue_names=list(request.queues),
        queue_ids=_queue_ids(request),
        tenant_name=request.tenant,
        **{name: {} for name in ("places", "states", "became", "remarks")},
        cursor=[],
    )
    fix_bounds(job)
    return job


def _queue_ids(request: ErasureRequest) -> list[int] | None:
    if request.queues and request.tenant:
        raise InvalidArgument("tenant must be empty beside queues: it is one or the other", "tenant")
    if len(request.queues) > MAX_QUEUES:
        raise InvalidArgument(f"queues has {len(request.queues)} names: at most {MAX_QUEUES}", "queues")
    if request.tenant:
        if not Tenant.objects.filter(name=request.tenant).exists():
            raise InvalidArgument(f"tenant '{request.tenant[:100]}' does not exist", "tenant")
        return sorted(Queue.objects.filter(tenant__name=request.tenant).values_list("queue_id", flat=True))
    if not request.queues:
        return None
    known = dict(Queue.objects.filter(name__in=request.queues).values_list("name", "queue_id"))
    for name in request.queues:
        if name not in known:
            raise InvalidArgument(f"queue '{name[:100]}' does not exist", "queues")
    return sorted(known.values())


def _sample(job: Erasure, target: Target, walk: Walk) -> Sample:
    rows = walk.estimate()
    scope, documents = scope_of(job, target), Documents(target)
    cursor: Sequence[Any] = ()
    looked = found = 0
    give_up_at = time.monotonic() + SAMPLE_MILLISECONDS / 1_000
    try:
        with time_limit(SAMPLE_MILLISECONDS):
            while looked < SAMPLE_ROWS:
                part = walk.page(scope, cursor, SAMPLE_ROWS - looked)
                for row in part.rows:  # a large body is read from its store, which no limit of the database ends
                    if time.monotonic() > give_up_at:
                        raise OutOfTime(OutOfTime.__doc__)
                    found += documents.hold(row)
                looked += part.looked
                if part.after is None:
                    return Sample(walk.name, walk.words, looked, looked, found, whole=True)
                cursor = list(part.after)
    except (OutOfTime, StoreAway):
        return Sample(walk.name, walk.words, rows, looked, found, whole=False, in_time=False)
    return Sample(walk.name, walk.words, max(rows, looked), looked, found, whole=False)


WORK = runner.Work(Erasure, batch)
pause, resume, cancel = WORK.pause, WORK.resume, WORK.cancel
run_slice, run_in_foreground = WORK.run_slice, WORK.run_in_foreground
