"""Reach over dead letters and jobs, for the people of the console and the keys of the API.

A dead letter belongs to the queue it died in, wherever it is kept. A job is within a reach that has everything it
may touch: the queues it found, where it sends to, and all that its frozen filter admits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from dlq.discards.models import Discard
from dlq.filters import Filter, FilterError, Literal, Term, parse
from dlq.jobs.models import Deletion, Job, Purge, Redrive, Undo
from dlq.redrives.plan_models import Plan
from dlq.trash.trash import REMOVERS
from queues.database.names import sources_of
from queues.errors import InvalidArgument
from queues.models import Queue
from queues.reach import SYSTEM_TENANT, QueueIdentity, Reach
from queues.stream_models import Stream

AnyJob = TypeVar("AnyJob", Redrive, Deletion, Purge, Undo, Discard, Plan, Job)
MAX_NAMED = 100
"""Limit of queues that are named in the filter of a job to keep it within a reach."""


def place_of(queue: Queue) -> QueueIdentity:
    """Return the identity of a queue, whose tenant is loaded, for a check against a reach."""
    sources = tuple(sources_of(queue)) if queue.is_dead_letter_queue else ()
    return QueueIdentity(queue.name, queue.tenant.name, sources)


def held_to(reach: Reach, filter: Filter) -> Filter:
    """Return the filter with terms that limit it to a reach, for a job that runs without its author.

    Raises `InvalidArgument` when that needs more than MAX_NAMED queues, or when no queue is left.
    """
    if reach.is_everything:
        return filter
    if not _named(filter) and (tenants := reach.whole_tenants):
        return filter.with_term("tenant", *tenants)
    names = _reached_names(reach, filter)
    if not names:
        raise InvalidArgument("filter selects dead letters of no queue that your roles are for", "filter_text")
    if len(names) > MAX_NAMED:
        raise InvalidArgument(
            f"filter may touch more than {MAX_NAMED} queues: name those that are meant, as queue:a,b", "filter_text"
        )
    return filter.with_term("queue", *names)


def _reached_names(reach: Reach, filter: Filter) -> list[str]:
    """Return the queues within reach that the filter names, or whose dead-letter queue it names."""
    queues = Queue.objects.filter(reach.among(), is_dead_letter_queue=False)
    for term in _named(filter):
        kept = Queue.objects.filter(name__in=term.literals, is_dead_letter_queue=True)
        queues = queues.filter(name__in=[*term.literals, *(name for one in kept for name in sources_of(one))])
    return list(queues.order_by("name").values_list("name", flat=True)[: MAX_NAMED + 1])


def _named(filter: Filter) -> list[Term]:
    return [term for term in filter.terms if term.key == "queue" and not term.negated]


class JobReach:
    """Check of jobs against one reach. Each queue is looked up once for any number of jobs."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._reached: dict[str, bool] = {}
        self._shared: dict[str, bool] = {}

    def has(self, names: Collection[str]) -> bool:
        """Tell whether all queues of these names are within reach. Only a reach of everything has deleted queues."""
        if self._reach.has_all_tenants:
            return self._reach.is_everything or not _touches_system(names)
        self._learn([name for name in names if name not in self._reached])
        return all(self._reached[name] for name in names)

    def has_tenant(self, name: str) -> bool:
        """Tell whether a queue of the tenant may be within reach, so that the tenant's name may be shown."""
        return self._reach.touches_tenant(name)

    def sees(self, job: Job | Plan) -> bool:
        """Tell whether everything that the job may touch is within reach."""
        if isinstance(job, Discard):
            return self._sees_stream(job.stream_id)
        if self._reach.has_all_tenants and not isinstance(job, Undo):
            return self._reach.is_everything or not _touches_system(_all_named(job))
        if isinstance(job, Undo):
            undone = REMOVERS[job.undoes_noun].objects.filter(pk=job.undoes_id).first()
            return undone is not None and self.sees(undone)
        if isinstance(job, Purge):
            return self.has([job.queue_name]) and not self._shared[job.queue_name]
        if isinstance(job, Redrive | Plan) and job.staging_id is not None:
            return False  # an archived queue of this name may have belonged to another tenant
        if isinstance(job, Redrive | Deletion | Plan):
            return self.has(_queues_named(job)) and any(self._binds(term) for term in _binding(job.filter_text))
        return False

    def _sees_stream(self, stream_id: int) -> bool:
        """Tell whether the stream is within reach. Only a reach of everything has deleted streams."""
        stream = Stream.objects.select_related("tenant").filter(pk=stream_id).first()
        if stream is None:
            return self._reach.is_everything
        return self._reach.is_everything or self._reach.holds(stream.name, stream.tenant.name)

    def _binds(self, term: Term) -> bool:
        """Tell whether all dead letters that the term selects died in queues within reach."""
        if not all(isinstance(value, Literal) for value in term.values):
            return False
        if term.key == "tenant":
            return all(self._reach.holds_tenant(name) for name in term.literals)
        return self.has(term.literals) and not any(self._shared[name] for name in term.literals)

    def _learn(self, names: Collection[str]) -> None:
        self._reached |= dict.fromkeys(names, False)
        self._shared |= dict.fromkeys(names, False)
        for queue in Queue.objects.select_related("tenant").filter(name__in=names) if names else ():
            place = place_of(queue)
            within = [self._reach.holds(name, place.tenant) for name in place.sources]
            self._reached[queue.name] = self._reach.holds(queue.name, place.tenant) or any(within)
            self._shared[queue.name] = not all(within)


class JobThing:
    """A job or a plan as the subject of permission checks; the answer for each reach is kept."""

    is_system = False

    def __init__(self, job: Job | Plan) -> None:
        self._job = job
        self._answers: dict[Reach, bool] = {}

    def __str__(self) -> str:
        return str(self._job)

    def is_within(self, reach: Reach) -> bool:
        if reach not in self._answers:
            self._answers[reach] = bool(reach) and JobReach(reach).sees(self._job)
        return self._answers[reach]


def seen_among(reach: Reach, jobs: Iterable[AnyJob]) -> list[AnyJob]:
    """Return the jobs that are within reach. The queues of all jobs are looked up together."""
    known, listed = JobReach(reach), list(jobs)
    known.has({name for job in listed for name in _all_named(job)})
    return [job for job in listed if known.sees(job)]


def _touches_system(names: Collection[str]) -> bool:
    """Tell whether one of these queues is Signalbox's own."""
    return Queue.objects.filter(name__in=names, tenant__name=SYSTEM_TENANT).exists()


def _queues_named(job: Redrive | Deletion | Plan) -> list[str]:
    target = job.choices.target_queue if isinstance(job, Plan) else getattr(job, "target_queue", None)
    return [*job.source_queues, *([target] if target else [])]


def _all_named(job: Job | Plan) -> list[str]:
    """Return the queues that `JobReach.sees` checks for this job."""
    if isinstance(job, Purge):
        return [job.queue_name]
    if not isinstance(job, Redrive | Deletion | Plan):
        return []
    bound = [name for term in _binding(job.filter_text) if term.key == "queue" for name in term.literals]
    return [*_queues_named(job), *bound]


def _binding(filter_text: str) -> list[Term]:
    """Return the terms that limit a job to some queues or tenants."""
    try:
        filter = parse(filter_text)
    except FilterError:  # a filter of an earlier version
        return []
    return [term for term in filter.terms if term.key in ("queue", "tenant") and not term.negated]
