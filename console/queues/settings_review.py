"""The review of a queue's settings: what every review has, and warnings about this queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from console.queues.forms import ConfigureForm
from console.web.forms import reviews
from console.web.forms.reviews import Review
from console.web.wording import number
from queues.counters.queue_numbers import QueueNumbers
from queues.models import AuditEvent, Queue
from queues.settings import ADVISED, SETTINGS, broken


def review(form: ConfigureForm, numbers: QueueNumbers, queue: Queue) -> Review:
    """Compare a valid form with the queue as it is now."""
    now = {name: getattr(queue, name) for name in SETTINGS}
    found = reviews.review(form, now, AuditEvent.objects.filter(queue_id=queue.pk))
    return replace(found, warnings=list(_warnings(numbers, {**now, **found.changes}, found.changes)))


def _warnings(numbers: QueueNumbers, after: Mapping[str, Any], changes: Mapping[str, Any]) -> Iterator[str]:
    """Say which settings do not fit together, and which limits the queue exceeds now."""
    for rule in broken(ADVISED, after):
        if rule.smaller in changes or rule.larger in changes:
            yield rule.sentence(after)
    for name, (use, consequence) in _usage(numbers).items():
        if name in changes and use > changes[name] and (changes[name] or name.startswith("alert_")):
            yield f"{SETTINGS[name].label}: usage is {number(use)}, above {number(changes[name])}. {consequence}"


def _usage(numbers: QueueNumbers) -> dict[str, tuple[float, str]]:
    """Return the present use of each limit, and the consequence of a limit below it."""
    held = numbers.ready + numbers.scheduled + numbers.waiting + numbers.leased
    return {
        "max_backlog_messages": (held, "Existing messages are kept; sends are refused until there are fewer."),
        "max_in_flight": (numbers.leased, "Messages in flight stay with their consumers; receives wait."),
        "alert_dead_letters": (numbers.dead, "The alert fires at once."),
    }
