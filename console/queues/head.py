"""The head of every page about one queue: its name, numbers and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import Http404
from django.utils.safestring import SafeString

from console.charts.sparklines import Part, state_bar
from console.overview.verdicts import Verdict, judge
from queues.counters.queue_numbers import QueueNumbers, read_numbers
from queues.models import Queue


@dataclass(frozen=True)
class QueueHead:
    """One queue as it stands now."""

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
        """The states of the queue's messages."""
        numbers = self.numbers
        in_groups = [Part("waiting for their group", numbers.waiting, "waiting")]
        return [
            Part("ready", numbers.ready, "ready"),
            Part("in flight", numbers.leased, "leased"),
            Part("scheduled", numbers.scheduled, "scheduled"),
            *(in_groups if numbers.waiting or self.queue.group_limit else []),
            Part("dead", numbers.dead, "dead"),
        ]

    @property
    def state_bar(self) -> SafeString:
        return state_bar(self.parts)


def find(name: str) -> QueueHead:
    """The queue of this name as it stands now, three queries; raises Http404 that says so."""
    queue_id = Queue.objects.filter(name=name).values_list("queue_id", flat=True).first()
    numbers = read_numbers([queue_id]) if queue_id is not None else []
    if not numbers:
        raise Http404(f"There is no queue called {name}.")
    return QueueHead(numbers[0])
