"""The review of changed settings before they are saved: old and new values, effects, conflicts and warnings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from console.queues.forms import ConfigureForm
from console.web.wording import MINUTE, number, plural, span
from queues.counters.queue_numbers import QueueNumbers
from queues.models import AuditEvent, Queue
from queues.settings import ADVISED, SETTINGS, Setting, broken


@dataclass(frozen=True)
class Line:
    """One changed setting: its value before and after, its default, its effect, and a conflict with another person."""

    label: str
    before: str
    after: str
    default: str
    effect: str
    conflict: str


@dataclass(frozen=True)
class Review:
    """All changes of a form against the queue as it is now."""

    changes: Mapping[str, Any]
    lines: list[Line]
    warnings: list[str]
    digest: str
    """Identifies the reviewed values: other values, or a change by another person, need another review."""

    @property
    def title(self) -> str:
        return plural(len(self.lines), "change")


def review(form: ConfigureForm, numbers: QueueNumbers, queue: Queue) -> Review:
    """Compare a valid form with the queue as it is now; values that the queue has already are no changes."""
    changes = {name: value for name, value in form.changes().items() if getattr(queue, name) != value}
    before = {name: getattr(queue, name) for name in SETTINGS}
    lines = [
        _line(SETTINGS[name], before[name], value, _conflict(form, queue, name)) for name, value in changes.items()
    ]
    compared = json.dumps([[name, before[name], value] for name, value in changes.items()])
    digest = hashlib.sha256(compared.encode()).hexdigest()
    return Review(changes, lines, list(_warnings(numbers, {**before, **changes}, changes)), digest)


def _line(setting: Setting, before: Any, after: Any, conflict: str) -> Line:
    shown = [_shown(setting, value) for value in (before, after, setting.default)]
    return Line(setting.label, *shown, setting.effect, conflict)


def _shown(setting: Setting, value: Any) -> str:
    """Return a value with its unit, and a long number of seconds also in larger units."""
    text = setting.shown(value)
    is_long = setting.unit == "seconds" and isinstance(value, int | float) and value >= 2 * MINUTE
    return f"{text} ({span(value)})" if is_long else text


def _conflict(form: ConfigureForm, queue: Queue, name: str) -> str:
    """Say who changed this setting after the form was opened; empty if the form shows the current value."""
    shown, current, setting = form.shown(name), getattr(queue, name), SETTINGS[name]
    if shown == current:
        return ""
    event = AuditEvent.objects.filter(queue_id=queue.pk, details__changes__has_key=name).order_by("-pk").first()
    if event is None:
        return f"{setting.label} was changed to {setting.shown(current)} after you opened this page."
    change = event.details["changes"][name]
    values = f"from {setting.shown(change['before'])} to {setting.shown(change['after'])}"
    return (
        f"{event.actor} changed {setting.label.lower()} {values} at {event.at:%H:%M} UTC, after you opened this page."
    )


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
