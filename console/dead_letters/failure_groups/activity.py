"""Activity of a failure group: what people and jobs did with it, the newest first, from the audit.

The index of the audit's details finds the rows, so the cost grows with the actions on the group alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Q

from console.administration.audit import links
from queues.models import AuditEvent

MAX_ACTIONS = 15
WORDS = {
    "failure_group.describe": "changed the triage notes",
    "failure_group.set_state": "set the state to {state}",
    "failure_group.snooze": "changed the snooze",
    "failure_group.merge": "merged two groups",
    "failure_group.split": "split a group out",
    "redrive.create": "started a redrive",
    "redrive.finish": "finished a redrive, {moved:,} sent",
    "redrive.stop": "stopped a redrive by its stop rules",
    "redrive.cancel": "cancelled a redrive",
    "deletion.create": "started a deletion",
    "deletion.finish": "finished a deletion",
}
"""What each action of the audit did. Comments have their own thread."""


@dataclass(frozen=True)
class Action:
    """One line: the actor, what was done and why, and links to the pages that it is about."""

    at: datetime
    actor: str
    words: str
    reason: str
    links: Sequence[tuple[str, str, int | str]]


def read_activity(fingerprint: str, filter_text: str) -> list[Action]:
    """Read the latest actions on a group, and the jobs of the filter that selects its dead letters."""
    about = Q(details__contains={"filter": filter_text})
    for key in ("fingerprint", "into", "out_of"):
        about |= Q(details__contains={key: fingerprint})
    # The sum keeps the planner from reading the whole audit backwards in search of a few rows.
    newest = AuditEvent.objects.filter(about, action__in=WORDS).order_by((F("audit_event_id") + 0).desc())
    return [_action(event, fingerprint) for event in newest[:MAX_ACTIONS]]


def _action(event: AuditEvent, fingerprint: str) -> Action:
    details = event.details if isinstance(event.details, dict) else {}
    state = details.get("changes", {}).get("state", {}).get("after", "")
    words = WORDS[event.action].format(state=state, moved=details.get("moved") or 0)
    others = [link for link in links(event) if fingerprint not in link]
    return Action(event.at, event.actor, words, event.reason, others)
