"""Activity of a failure group: what people and jobs did with it, the newest first, from the audit.

A job belongs to the activity if it counted messages of the group when it began, whatever its filter was. The index of
the audit's details finds the rows, so the cost grows with the actions on the group alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import F, Q

from console.administration.audit import links, visible_events, within
from queues.models import AuditEvent
from queues.reach import Reach

MAX_ACTIONS = 15
WORDS = {
    "failure_group.describe": "changed the triage notes",
    "failure_group.set_state": "set the state to {state}",
    "failure_group.snooze": "changed the snooze",
    "failure_group.merge": "merged two groups",
    "failure_group.split": "split a group out",
    "redrive.ask": "asked for a redrive",
    "redrive.create": "started a redrive",
    "redrive.finish": "finished a redrive, {moved:,} sent",
    "redrive.stop": "stopped a redrive by its stop rules",
    "redrive.cancel": "cancelled a redrive",
    "redrive.fail": "could not finish a redrive",
    "deletion.ask": "asked for a deletion",
    "deletion.create": "started a deletion",
    "deletion.finish": "finished a deletion",
    "deletion.cancel": "cancelled a deletion",
    "deletion.fail": "could not finish a deletion",
}
"""What each action of the audit did. Comments have their own thread."""
BEGINNINGS = ("ask", "create")
JOBS = ("redrive", "deletion")


@dataclass(frozen=True)
class Action:
    """One line: the actor, what was done and why, and links to the pages that it is about."""

    at: datetime
    actor: str
    words: str
    reason: str
    links: Sequence[tuple[str, str, int | str]]


def read_activity(fingerprints: Sequence[str], filter_text: str, reach: Reach) -> list[Action]:
    """Read the latest actions on a group, and the jobs that touched its messages.

    The first fingerprint is that of the group, the others were merged into it. `filter_text` selects its dead letters.
    """
    found = {event.pk: event for event in _newest(_on_the_group(fingerprints[0], filter_text))}
    found |= {event.pk: event for event in _newest(_by_count(fingerprints), reach)}
    found |= {event.pk: event for event in _newest(_of_jobs(found.values()))}
    newest = [found[number] for number in sorted(found, reverse=True)[:MAX_ACTIONS]]
    return [_action(event, fingerprints[0]) for event in visible_events(newest, reach)]


def _newest(about: Q, reach: Reach | None = None) -> Sequence[AuditEvent]:
    """Return the newest events of this activity. Jobs that were found by what they counted are held to a reach."""
    events = AuditEvent.objects.filter(about, action__in=WORDS)
    # The sum keeps the planner from reading the whole audit backwards in search of a few rows.
    return (events if reach is None else within(events, reach)).order_by((F("audit_event_id") + 0).desc())[:MAX_ACTIONS]


def _on_the_group(fingerprint: str, filter_text: str) -> Q:
    about = Q(details__contains={"filter": filter_text})
    for key in ("fingerprint", "into", "out_of"):
        about |= Q(details__contains={key: fingerprint})
    return about


def _by_count(fingerprints: Sequence[str]) -> Q:
    return reduce(or_, (Q(details__contains={"fingerprints": [one]}) for one in fingerprints))


def _of_jobs(events: Iterable[AuditEvent]) -> Q:
    """Select every action on the jobs that these events began."""
    about = Q(pk=None)
    for event in events:
        noun, _, verb = event.action.partition(".")
        number = _details(event).get(f"{noun}_id")
        if noun in JOBS and verb in BEGINNINGS and isinstance(number, int):
            about |= Q(action__startswith=f"{noun}.", details__contains={f"{noun}_id": number})
    return about


def _action(event: AuditEvent, fingerprint: str) -> Action:
    details = _details(event)
    state = details.get("changes", {}).get("state", {}).get("after", "")
    words = WORDS[event.action].format(state=state, moved=details.get("moved") or 0)
    others = [link for link in links(event) if fingerprint not in link]
    return Action(event.at, event.actor, words, event.reason, others)


def _details(event: AuditEvent) -> dict[str, Any]:
    return event.details if isinstance(event.details, dict) else {}
