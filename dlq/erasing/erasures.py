"""The door to erasures: looking first, starting, stopping, and running them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings

from dlq import jobs, runner
from dlq.erasing import target as targets
from dlq.erasing.batches import batch, fix_bounds, scope_of
from dlq.erasing.documents import Documents, StoreAway
from dlq.erasing.places import WALKS
from dlq.erasing.target import Target
from dlq.erasing.walks import Walk
from dlq.erasure_models import MAX_ROWS_PER_SECOND, USUAL_ROWS_PER_SECOND
from dlq.models import Erasure
from dlq.time_limits import OutOfTime, time_limit
from queues.errors import InvalidArgument
from queues.models import Queue, Tenant

WORD = "erase"
MOST_QUEUES = 100
SAMPLE_ROWS = 5_000
SAMPLE_MILLISECONDS = 2_000


@dataclass(frozen=True)
class Wanted:
    """What somebody wants to have erased. `live`: what becomes of messages under way; see docs/erasure.md."""

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
    """What was seen of one place: of about `rows` rows the first `looked`, of which `found` have the value."""

    place: str
    words: str
    rows: int
    looked: int
    found: int
    whole: bool
    in_time: bool = True


@dataclass(frozen=True)
class Preview:
    """A look at the beginning of each place; how long all of it takes at the wanted pace."""

    samples: Sequence[Sample]
    seconds: float

    @property
    def rows(self) -> int:
        return sum(one.rows for one in self.samples)

    @property
    def found(self) -> int:
        return sum(one.found for one in self.samples)

    @property
    def is_whole(self) -> bool:
        return all(one.whole for one in self.samples)


def preview(wanted: Wanted) -> Preview:
    """Look, within seconds, and change nothing. Raises `InvalidArgument`."""
    job = _job(wanted)
    samples = [_sample(job, wanted.target, walk) for walk in WALKS if walk.name != "trash_again"]
    return Preview(samples, sum(one.rows for one in samples) / job.rows_per_second)


def create(
    wanted: Wanted, *, actor: str, reason: str, confirmation: str = "", only_counts: bool = False, kicked: bool = True
) -> Erasure:
    """Start an erasure; or, with `only_counts`, the same walk without changing anything. Raises `InvalidArgument`."""
    if not reason.strip():
        raise InvalidArgument("reason is empty: say who asked for it, for the audit", "reason")
    if not only_counts and confirmation != WORD:
        raise InvalidArgument(f"Type the word {WORD}.", "confirmation")
    job = _job(wanted)
    job.only_counts, job.created_by, job.reason = only_counts, actor, reason
    job.total_estimate = sum(walk.estimate() for walk in WALKS)
    return jobs.start(job, kicked=kicked)


def cancel(erasure_id: int, *, actor: str, reason: str = "") -> bool:
    """Stop after the batch under way; what is erased stays erased. False when it was over already."""
    return jobs.cancel(Erasure, erasure_id, actor=actor, reason=reason)


def pause(erasure_id: int, *, actor: str, reason: str = "") -> bool:
    """Stop after the batch under way, to go on later. False when there was nothing to pause."""
    return jobs.pause(Erasure, erasure_id, actor=actor, reason=reason)


def resume(erasure_id: int, *, actor: str, reason: str = "") -> bool:
    """Go on where it stopped. False when it was not paused."""
    return jobs.resume(Erasure, erasure_id, actor=actor, reason=reason)


def run_slice(erasure_id: int, seconds: float = runner.SLICE_SECONDS) -> runner.Ending:
    """What one Celery task does."""
    return runner.run_slice(WORK, erasure_id, seconds)


def run_in_foreground(erasure_id: int, tell: Callable[[Erasure], None] | None = None) -> Erasure:
    """Run it here, without Celery, until it is over."""
    return runner.run_to_the_end(WORK, erasure_id, 1.0 if tell else runner.SLICE_SECONDS, tell)


def _job(wanted: Wanted) -> Erasure:
    """Checked, not saved; its bounds are those of now."""
    target = wanted.target
    if wanted.live not in Erasure.Live.values:
        raise InvalidArgument(f"live is {wanted.live[:40]!r}: it must be hold, redact or delete", "live")
    if not 1 <= wanted.rows_per_second <= MAX_ROWS_PER_SECOND:
        raise InvalidArgument(f"rows_per_second must be from 1 to {MAX_ROWS_PER_SECOND}", "rows_per_second")
    if wanted.since and wanted.until and wanted.since >= wanted.until:
        raise InvalidArgument("until must be later than since", "until")
    job = Erasure(
        part=target.part,
        path=target.path,
        value=target.value,
        value_digest=target.digest(settings.SECRET_KEY),
        live=wanted.live,
        queue_names=list(wanted.queues),
        queue_ids=_queue_ids(wanted),
        tenant_name=wanted.tenant,
        since=wanted.since,
        until=wanted.until,
        rows_per_second=wanted.rows_per_second,
        **{name: {} for name in ("places", "states", "became", "remarks")},
        cursor=[],
    )
    fix_bounds(job)
    return job


def _queue_ids(wanted: Wanted) -> list[int] | None:
    if wanted.queues and wanted.tenant:
        raise InvalidArgument("tenant must be empty beside queues: it is one or the other", "tenant")
    if len(wanted.queues) > MOST_QUEUES:
        raise InvalidArgument(f"queues has {len(wanted.queues)} names: at most {MOST_QUEUES}", "queues")
    if wanted.tenant:
        if not Tenant.objects.filter(name=wanted.tenant).exists():
            raise InvalidArgument(f"tenant '{wanted.tenant[:100]}' does not exist", "tenant")
        return sorted(Queue.objects.filter(tenant__name=wanted.tenant).values_list("queue_id", flat=True))
    if not wanted.queues:
        return None
    known = dict(Queue.objects.filter(name__in=wanted.queues).values_list("name", "queue_id"))
    for name in wanted.queues:
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
                part = walk.slice(scope, cursor, SAMPLE_ROWS - looked)
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
