"""The head of every page about one queue: its name, numbers and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import Http404
from django.utils.safestring import SafeString

from console.charts.sparklines import Part, state_bar
from console.overview.verdicts import Verdict, dead_letters, judge
from console.web import wording
from queues.counters.queue_numbers import QueueNumbers, read_numbers
from queues.models import Queue
from queues.reach import Reach

MAX_SOURCES = 3
"""The maximum number of source queues that the sentence about a dead-letter queue names."""


@dataclass(frozen=True)
class QueueHead:
    """One queue with its current numbers and verdict."""

    numbers: QueueNumbers

    @property
    def queue(self) -> Queue:
        return self.numbers.queue

    @property
    def name(self) -> str:
        return self.numbers.name

    @cached_property
    def verdict(self) -> Verdict:
        return judge(self.numbers)

    @cached_property
    def parts(self) -> Sequence[Part]:
        """Count the queue's messages by state."""
        numbers = self.numbers
        in_groups = [Part("waiting for their group", numbers.waiting, "waiting")]
        return [
            Part("ready", numbers.ready, "ready"),
            Part("in flight", numbers.leased, "leased"),
            Part("scheduled", numbers.scheduled, "scheduled"),
            *(in_groups if numbers.waiting or self.queue.has_lanes else []),
            Part("dead", numbers.dead, "dead"),
        ]

    @property
    def dead_letters(self) -> str:
        """Count the dead letters beside their limit."""
        return dead_letters(self.numbers)

    @property
    def state_bar(self) -> SafeString:
        return state_bar(self.parts)


def sources(numbers: QueueNumbers, reach: Reach) -> str:
    """List the queues within reach whose dead letters this dead-letter queue keeps; empty for other queues."""
    if not numbers.is_dead_letter_queue:
        return ""
    names = Queue.objects.filter(reach.among(), dead_letter_queue_id=numbers.queue_id).order_by("name")
    known = list(names.values_list("name", flat=True)[: MAX_SOURCES + 1])
    return wording.listing([*known[:MAX_SOURCES], *(["others"] if len(known) > MAX_SOURCES else [])]) if known else ""


def find(name: str) -> QueueHead:
    """Read the queue of this name with its current numbers, in three queries. Raises Http404 if there is none."""
    queue_id = Queue.objects.filter(name=name).values_list("queue_id", flat=True).first()
    numbers = read_numbers([queue_id]) if queue_id is not None else []
    if not numbers:
        raise Http404(f"There is no queue called {name}.")
    return QueueHead(numbers[0])
