"""The trash: what a purge or a deletion removed stays there for some hours, in the engine's `removal` of the job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings

from dlq import verbs
from dlq.finding import Query
from dlq.models import Deletion, Job, Purge
from dlq.time_limits import COUNT_MILLISECONDS, OutOfTime, time_limit
from queues.models import Removal

Remover = Purge | Deletion
REMOVERS: dict[str, type[Purge] | type[Deletion]] = {"purge": Purge, "deletion": Deletion}
MOST_EXAMINED = 10_000
MOST_LISTED = 200


def hours() -> int:
    """How long what is removed from now on can be put back; 0: it goes for good."""
    return int(settings.TRASH_HOURS)


def must_confirm(messages: int | None) -> bool:
    """Whether removing so many asks for a typed word; nobody knows how many: it does."""
    return messages is None or messages > settings.CONFIRM_ABOVE_MESSAGES or not settings.CONFIRM_ABOVE_MESSAGES


def removal_of(job: Remover) -> int | None:
    """Where the job's batch puts what it removes; begun with the first, in its transaction. None: for good."""
    if job.removal_id is None and job.trash_hours:
        job.removal_id = verbs.open_removal(job.trash_hours * 3600.0)
    return job.removal_id


@dataclass(frozen=True)
class Heap:
    """What one job has in the trash."""

    job: Job
    removal: Removal


def heaps() -> Sequence[Heap]:
    """What is in the trash, by job, the next to go first. Two queries for each kind of job, whatever is in it."""
    full = Removal.objects.extra(where=["trashed > restored + emptied"])  # the predicate of its index, word for word
    removals = {removal.removal_id: removal for removal in full.order_by("expires_at")[:MOST_LISTED]}
    jobs: Iterable[Remover] = (
        job for model in REMOVERS.values() for job in model.objects.filter(removal_id__in=removals)
    )
    found = [Heap(job, removals[job.removal_id]) for job in jobs if job.removal_id]
    return sorted(found, key=lambda heap: heap.removal.expires_at)


def heap_of(job: Job) -> Heap | None:
    """What is left of one job; None when nothing is, or when it removed for good."""
    removal_id = getattr(job, "removal_id", None)
    removal = Removal.objects.filter(removal_id=removal_id).first() if removal_id else None
    return Heap(job, removal) if removal and removal.left > 0 else None


@dataclass(frozen=True)
class Part:
    """Of the messages that were looked at: those of one queue in one state, and how many cannot come back."""

    queue: str | None
    state: str
    messages: int
    id_taken: int
    paused: bool
    closed: bool


SURVEY = """
with looked as materialized (
  select t.queue_id, t.message_id, t.state, t.letter is null as is_ticket
  from signalbox.trash t
  where t.removal_id = %s
  order by t.turn, t.message_id
  limit %s
)
select q.name, l.state, count(*),
  count(*) filter (where case when l.is_ticket and q.dedup_scope = 'in_flight' then exists (
    select
    from signalbox._body_facts(l.queue_id, l.message_id) b
    join signalbox.dedup_in_flight k on k.queue_id = l.queue_id and k.deduplication_id = b.deduplication_id
  ) else false end),
  coalesce(q.paused, false), coalesce(q.closed, false)
from looked l
left join signalbox.queue q on q.queue_id = l.queue_id
group by q.queue_id, q.name, l.state, q.paused, q.closed
order by count(*) desc, q.name, l.state
"""


def survey(removal_id: int) -> Sequence[Part] | None:
    """Where the first ten thousand would go; None when there was no time to look."""
    try:
        with time_limit(COUNT_MILLISECONDS):
            return [Part(*row) for row in Query(SURVEY, [removal_id, MOST_EXAMINED]).rows()]
    except OutOfTime:
        return None
