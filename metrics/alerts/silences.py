"""Silences: alerts that are shown but not notified, until a chosen time.

A silence affects the counts and notifications of Signalbox. Alertmanager has silences of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from metrics.alerts.alert_list import Episode
from metrics.alerts.models import Alert, Silence
from queues import audit
from queues.errors import InvalidArgument
from queues.models import Queue

MAX_DURATION = timedelta(days=30)
MAX_ACTIVE = 200

_PATTERN = re.compile(r"[A-Za-z0-9*][A-Za-z0-9*._:-]*")


def active(now: datetime | None = None) -> list[Silence]:
    """List the active silences by the time at which they end. One query."""
    return list(Silence.objects.filter(ends_at__gt=now or timezone.now()).order_by("ends_at")[:MAX_ACTIVE])


def silencing(silences: Iterable[Silence], alert: Alert) -> Silence | None:
    """Find the silence that matches this alert and ends last."""
    matching = [each for each in silences if matches(each.alert_pattern, each.queue_pattern, alert)]
    return max(matching, key=lambda silence: silence.ends_at, default=None)


def loud(episodes: Sequence[Episode]) -> list[Episode]:
    """Keep the episodes that no silence matches, in their order. One query; none without episodes."""
    active_now = active() if episodes else []
    return [episode for episode in episodes if not all(silencing(active_now, alert) for alert in episode.alerts)]


def matches(alert_pattern: str, queue_pattern: str, alert: Alert) -> bool:
    """Tell whether both patterns fit; an empty pattern fits everything."""
    return fits(alert_pattern, alert.name) and fits(queue_pattern, alert.queue_name)


def fits(pattern: str, name: str) -> bool:
    """Match a name with a pattern in which * is any text, in linear time: without a regular expression."""
    if not pattern:
        return True
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    *middle, last = rest
    if not name.startswith(first) or len(name) < len(first) + len(last) or not name.endswith(last):
        return False
    return _in_order(middle, name[len(first) : len(name) - len(last)])


def create(*, alert: str, queue: str, ends_at: datetime, comment: str, actor: str) -> Silence:
    """Create a silence from now until `ends_at`. Raises `InvalidArgument`, which names the field."""
    now = timezone.now()
    check(alert=alert, queue=queue)
    if not comment.strip():
        raise InvalidArgument("comment is missing: say why", "comment")
    if not now < ends_at <= now + MAX_DURATION:
        raise InvalidArgument(f"ends_at must lie within the next {MAX_DURATION.days} days", "ends_at")
    if Silence.objects.filter(ends_at__gt=now).count() >= MAX_ACTIVE:
        raise InvalidArgument(f"there are {MAX_ACTIVE} silences: end one first", "alert")
    with transaction.atomic():
        silence = Silence.objects.create(
            alert_pattern=alert, queue_pattern=queue, ends_at=ends_at, comment=comment, created_by=actor
        )
        audit.record(actor, "alert.silence", _queue(silence), comment, _details(silence))
    return silence


def check(*, alert: str, queue: str) -> None:
    """Refuse patterns that are not names, or that match every alert of every queue."""
    for name, pattern, longest in (("alert", alert, 200), ("queue", queue, 100)):
        check_pattern(name, pattern, longest)
    if not alert.strip("*") and not queue.strip("*"):
        raise InvalidArgument("alert and queue are both empty or *: name at least one of them", "alert")


def check_pattern(name: str, pattern: str, longest: int) -> None:
    """Refuse a pattern that can match no name. Raises `InvalidArgument` with `name` as its field."""
    if pattern and (len(pattern) > longest or not _PATTERN.fullmatch(pattern)):
        raise InvalidArgument(f"{name} is a name of at most {longest} letters and digits, in which * is any text", name)


def end(silence_id: int, *, actor: str) -> bool:
    """End a silence early; False when it has ended or does not exist."""
    with transaction.atomic():
        now = timezone.now()
        silence = Silence.objects.select_for_update().filter(pk=silence_id, ends_at__gt=now).first()
        if silence is None:
            return False
        silence.ends_at, silence.ended_by = now, actor
        silence.save(update_fields=["ends_at", "ended_by"])
        audit.record(actor, "alert.silence_end", _queue(silence), "", _details(silence))
    return True


def _in_order(parts: Sequence[str], text: str) -> bool:
    position = 0
    for part in parts:
        start = text.find(part, position)
        if start < 0:
            return False
        position = start + len(part)
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
