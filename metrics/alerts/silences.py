"""Silences: alerts that are shown, and of which nobody is told, until a moment that somebody chose.

They hold for what the console counts and sends. What Alertmanager sends elsewhere is silenced in Alertmanager.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from metrics.alerts.episodes import Episode
from metrics.alerts.models import Alert, Silence
from queues import audit
from queues.errors import InvalidArgument
from queues.models import Queue

LONGEST = timedelta(days=30)
MOST_ACTIVE = 200

_PATTERN = re.compile(r"[A-Za-z0-9*][A-Za-z0-9*._:-]*")


def active(now: datetime | None = None) -> list[Silence]:
    """Those that hold, the one that ends first in front. One query."""
    return list(Silence.objects.filter(ends_at__gt=now or timezone.now()).order_by("ends_at")[:MOST_ACTIVE])


def silencing(silences: Iterable[Silence], alert: Alert) -> Silence | None:
    """The one of these that ends last of those that silence this alert."""
    matching = [one for one in silences if matches(one.alert_pattern, one.queue_pattern, alert)]
    return max(matching, key=lambda one: one.ends_at, default=None)


def loud(found: Sequence[Episode]) -> list[Episode]:
    """Those that nothing silences, in their order. One query, and none when nothing fires."""
    active_now = active() if found else []
    return [episode for episode in found if not all(silencing(active_now, alert) for alert in episode.alerts)]


def matches(alert_pattern: str, queue_pattern: str, alert: Alert) -> bool:
    """Whether both patterns fit; an empty one fits all."""
    return _fits(alert_pattern, alert.name) and _fits(queue_pattern, alert.queue_name)


def create(*, alert: str, queue: str, ends_at: datetime, comment: str, actor: str) -> Silence:
    """Silence from now on until `ends_at`. Raises `InvalidArgument`, which names the field."""
    now = timezone.now()
    check(alert=alert, queue=queue)
    if not comment.strip():
        raise InvalidArgument("comment is missing: say why", "comment")
    if not now < ends_at <= now + LONGEST:
        raise InvalidArgument(f"ends_at must lie within the next {LONGEST.days} days", "ends_at")
    if Silence.objects.filter(ends_at__gt=now).count() >= MOST_ACTIVE:
        raise InvalidArgument(f"there are {MOST_ACTIVE} silences: end one first", "alert")
    with transaction.atomic():
        silence = Silence.objects.create(
            alert_pattern=alert, queue_pattern=queue, ends_at=ends_at, comment=comment, created_by=actor
        )
        audit.record(actor, "alert.silence", _queue(silence), comment, _details(silence))
    return silence


def check(*, alert: str, queue: str) -> None:
    """Refuse patterns that make no sense."""
    for name, pattern, longest in (("alert", alert, 200), ("queue", queue, 100)):
        if pattern and (len(pattern) > longest or not _PATTERN.fullmatch(pattern)):
            raise InvalidArgument(
                f"{name} is a name of at most {longest} letters and digits, in which * is any text", name
            )
    if not alert.strip("*") and not queue.strip("*"):
        raise InvalidArgument("alert or queue must be named: nobody silences everything", "alert")


def end(silence_id: int, *, actor: str) -> bool:
    """End one before its time. False when it is over, or never was."""
    with transaction.atomic():
        now = timezone.now()
        silence = Silence.objects.select_for_update().filter(pk=silence_id, ends_at__gt=now).first()
        if silence is None:
            return False
        silence.ends_at, silence.ended_by = now, actor
        silence.save(update_fields=["ends_at", "ended_by"])
        audit.record(actor, "alert.silence_end", _queue(silence), "", _details(silence))
    return True


def _fits(pattern: str, name: str) -> bool:
    """Without a regular expression: any number of stars costs no more than the two lengths."""
    if not pattern:
        return True
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    *middle, last = rest
    if not name.startswith(first) or len(name) < len(first) + len(last) or not name.endswith(last):
        return False
    return _in_order(middle, name[len(first) : len(name) - len(last)])


def _in_order(parts: Sequence[str], text: str) -> bool:
    position = 0
    for part in parts:
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True


def _queue(silence: Silence) -> Queue | None:
    return Queue.objects.filter(name=silence.queue_pattern).first() if silence.queue_pattern else None


def _details(silence: Silence) -> dict[str, str | int]:
    return {
        "silence": silence.pk,
        "alert": silence.alert_pattern or "*",
        "queue": silence.queue_pattern or "*",
        "until": silence.ends_at.isoformat(timespec="seconds"),
    }
