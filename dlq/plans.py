"""The look before the leap: what a redrive or a deletion would touch, frozen at the moment of looking.

A preview changes nothing. Its upper bound and its time go into the job that is made of it, so that the job takes
what was shown, however long its reader thinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dlq import selecting
from dlq.browse import DeadLetterRow, dead_letters
from dlq.cluster_members import widened
from dlq.counting import BoundedCount, survey
from dlq.filters import parse
from dlq.finding import Span, database_now, find
from queues import control
from queues.models import Consumer, Queue

SAMPLES = 5
CONSUMERS_SEEN_WITHIN = timedelta(seconds=60)


@dataclass(frozen=True)
class Destination:
    """A queue that `messages` of those counted would go to."""

    queue: str
    messages: int
    consumers: int
    paused: bool
    closed: bool
    exists: bool

    @property
    def warnings(self) -> list[str]:
        """Sentences; none when all is well."""
        if not self.exists:
            return [f"{self.queue} no longer exists: the redrive will fail."]
        found = []
        if self.closed:
            found.append(f"{self.queue} is closed: its senders are refused, what is redriven still goes in.")
        if self.paused:
            found.append(f"{self.queue} is paused: messages will wait there until it is resumed.")
        if not self.consumers:
            found.append(f"{self.queue} has no consumer: nobody received from it in the last minute.")
        return found


@dataclass(frozen=True)
class Preview:
    """What a job with this filter would touch. Give `upper_bound` and `as_of` to `create` to get just that."""

    filter_text: str
    as_of: datetime
    upper_bound: int
    count: BoundedCount
    samples: Sequence[DeadLetterRow]
    destinations: Sequence[Destination]
    redriven_before: int
    """Of those counted, how many came back dead from an earlier redrive."""
    most_redrives: int

    @property
    def warnings(self) -> list[str]:
        """What to think about first, the destinations' warnings included."""
        found = [warning for destination in self.destinations for warning in destination.warnings]
        if self.redriven_before:
            times = "once" if self.most_redrives == 1 else f"up to {self.most_redrives} times"
            found.append(f"{self.redriven_before:,} of them were redriven before, {times}, and died again.")
        return found


def preview(filter_text: str, target_queue: str | None = None, *, with_payloads: bool = True) -> Preview:
    """Look at what the filter selects now. Raises `FilterError`, and `QueueNotFound` for the target."""
    chosen, as_of, upper_bound = widened(parse(filter_text)), database_now(), selecting.newest_id()
    seen = survey(find(chosen, as_of, Span(through=upper_bound)))
    samples = dead_letters(chosen, now=as_of, through=upper_bound, size=SAMPLES, with_payloads=with_payloads)
    if target_queue is not None:
        control.get_queue(target_queue)
        places = {target_queue: sum(seen.sources.values())}
    else:
        places = dict(seen.sources.most_common()) or _sources_of(samples.rows)
    return Preview(
        filter_text=str(chosen),
        as_of=as_of,
        upper_bound=upper_bound,
        count=seen.count,
        samples=samples.rows,
        destinations=_destinations(places),
        redriven_before=seen.redriven_before,
        most_redrives=seen.most_redrives,
    )


def _sources_of(samples: Sequence[DeadLetterRow]) -> dict[str, int]:
    """When there was no time to count, the samples at least say where some of them go."""
    return {sample.source_queue: 0 for sample in samples}


def _destinations(places: dict[str, int]) -> list[Destination]:
    queues = {queue.name: queue for queue in Queue.objects.filter(name__in=places)}
    seen_since = database_now() - CONSUMERS_SEEN_WITHIN
    consumers = Consumer.objects.filter(queue__in=queues.values(), last_seen_at__gte=seen_since)
    counted: dict[int, int] = {}
    for queue_id in consumers.values_list("queue_id", flat=True):
        counted[queue_id] = counted.get(queue_id, 0) + 1
    return [_destination(name, messages, queues.get(name), counted) for name, messages in places.items()]


def _destination(name: str, messages: int, queue: Queue | None, consumers: dict[int, int]) -> Destination:
    if queue is None:
        return Destination(name, messages, consumers=0, paused=False, closed=False, exists=False)
    return Destination(
        name, messages, consumers.get(queue.queue_id, 0), paused=queue.paused, closed=queue.closed, exists=True
    )
