"""What the audit can be asked: who, what, to which queue or job or message, why, and when."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q, QuerySet

from console.terms import Key, Term, parse
from dlq.filters.readings import MisreadError, duration, moment, whole_number
from queues.models import AuditEvent

NUMBERED = ("redrive", "deletion", "purge", "undo", "message")
"""What an action may be about, by its number: `details` has it as <noun>_id."""
LINKED = (*(f"{noun}_id" for noun in (*NUMBERED, "plan")), "fingerprint")
"""What of `details` `links` says."""
LONGEST_FINGERPRINT = 600


def select(events: QuerySet[AuditEvent], text: str) -> QuerySet[AuditEvent]:
    """The events that `text` selects; raises FilterError at its first mistake."""
    for term in parse(text, KEYS, wordless="reason"):
        events = events.exclude(_any(term)) if term.negated else events.filter(_any(term))
    return events


def _any(term: Term) -> Q:
    """Rows that match one of the term's values."""
    matching = Q()
    for value in term.values:
        matching |= _READ[term.key](value)
    return matching


def _times(text: str) -> Q:
    """A day or a moment, or a range of them: the first named until the end of the last."""
    first, dots, last = text.partition("..")
    if not first and not last:
        raise MisreadError("a date, a time, or two with .. between them")
    chosen = Q()
    if first:
        chosen &= Q(at__gte=moment(first).start)
    if last or not dots:
        chosen &= Q(at__lt=moment(last or first).end)
    return chosen


def _ages(text: str) -> Q:
    """Younger than, as in <1d, or older, as in >2h."""
    if not text.startswith(("<", ">")):
        raise MisreadError("< or > and a duration, as in <1d")
    bound = datetime.now(UTC) - duration(text[1:])
    return Q(at__gte=bound) if text.startswith("<") else Q(at__lt=bound)


def _numbered(noun: str) -> Callable[[str], Q]:
    return lambda text: Q(details__contains={f"{noun}_id": whole_number(text)})


_READ: dict[str, Callable[[str], Q]] = {
    "actor": lambda text: Q(actor=text),
    "action": lambda text: Q(action__startswith=text),
    "queue": lambda text: Q(queue_name=text),
    "reason": lambda text: Q(reason__icontains=text),
    "at": _times,
    "age": _ages,
    "row": lambda text: Q(position=whole_number(text)),
    "tenant": lambda text: Q(details__contains={"tenant": text}),
    "person": lambda text: Q(details__contains={"person": text}),
    "key": lambda text: Q(details__contains={"key": text}),
    **{noun: _numbered(noun) for noun in NUMBERED},
}

_HELP: dict[str, str] = {
    "actor": "Who did it.",
    "action": "What was done, such as queue.pause; the beginning is enough.",
    "queue": "The queue it was done to.",
    "reason": "Part of the reason; words without a key search here too.",
    "at": "When: a day, a time, or a range such as 2026-01-31..2026-02-02.",
    "age": "How long ago: <1d is within the last day, >1d is before.",
    "row": "Its place in the chain, as manage.py audit verify says it.",
    "tenant": "The tenant whose quotas were changed.",
    "person": "The person whose role was changed.",
    "key": "The API key that was made or revoked; what it did has actor:key:NAME.",
    **{noun: f"The {noun} of this number." for noun in NUMBERED},
}

KEYS: dict[str, Key] = {name: Key(_HELP[name], read=_READ[name]) for name in _READ}


def links(event: AuditEvent) -> list[tuple[str, str, int | str]]:
    """(words, name of the page, number) of what the event is about."""
    details: dict[str, Any] = event.details if isinstance(event.details, dict) else {}
    found: list[tuple[str, str, int | str]] = []
    for noun in (*NUMBERED, "plan"):
        number = details.get(f"{noun}_id")
        if isinstance(number, int) and 0 < number < 10**18:
            found.append((f"{noun} {number}", _PAGES.get(noun, noun), number))
    if isinstance(fingerprint := details.get("fingerprint"), str) and 0 < len(fingerprint) <= LONGEST_FINGERPRINT:
        found.append((f"cluster {fingerprint}", "cluster", fingerprint))
    return found


_PAGES = {"message": "message_find", "plan": "redrive_plan"}
