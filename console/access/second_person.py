"""The rule for approvals by a second person: neither the requester's account, nor one that the requester controls.

An administrator may create an account, know its password, and approve with it. So an account counts as one person with
the person who created it, gave it a role or allowed its login within SECOND_PERSON_DAYS, with the person who did that
for this person, and so on. `manage.py` and sign-on do not count as such persons.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.utils import timezone

from console.access.api_keys.key import ACTOR_PREFIX
from console.access.api_keys.models import ApiKey
from console.access.roles import ROLES
from queues.models import AuditEvent

APPROVING = frozenset(role for role, permissions in ROLES.items() if "approve" in permissions)
OPENING = ("person.create", "person.change", "grant.give", "person.no_second_factor", "person.link", "person.unlock")
"""Actions in the audit by which a person opens another account, or gives it the right to approve."""
Givers = dict[str, set[str]]
"""For each person: the people who lately opened that person's account or gave it a role."""


def objection(person: str, asked_by: str, asked_at: datetime, givers: Givers | None = None) -> str:
    """Say why this person cannot approve the job; empty otherwise."""
    author = person_behind(asked_by, asked_at)
    if author == person:
        return "Another person must decide: you created the API key that requested this job."
    givers = read_givers() if givers is None else givers
    shared = sorted(_behind(person, givers) & _behind(author, givers))
    if not shared:
        return ""
    one = shared[0] if person not in shared else person
    return (
        f"Another person must decide: {one} opened the account of {author if one == person else person}, or gave it"
        f" its role, within the last {settings.SECOND_PERSON_DAYS} days (SECOND_PERSON_DAYS)."
    )


def _behind(person: str, givers: Givers) -> set[str]:
    """Return the person, the people who lately opened the person's account, those who opened theirs, and so on."""
    found, new = {person}, [person]
    while new:
        more = givers.get(new.pop(), set()) - found
        found |= more
        new += more
    return found


def read_givers() -> Givers:
    """Read from the audit who opened which account. One call serves several jobs."""
    since = timezone.now() - timedelta(days=settings.SECOND_PERSON_DAYS)
    people = get_user_model().objects.values("username")
    opened = AuditEvent.objects.filter(action__in=OPENING, at__gte=since, actor__in=people)
    givers: Givers = {}
    for actor, action, details in opened.values_list("actor", "action", "details"):
        name = str(details.get("person", ""))
        if name and actor != name and _opens(action, details):
            givers.setdefault(name, set()).add(actor)
    return givers


def _opens(action: str, details: dict[str, Any]) -> bool:
    if action == "grant.give":
        return details.get("role") in APPROVING
    if action == "person.change":
        changes = details.get("changes", {})
        return changes.get("role", {}).get("after") in APPROVING or bool(changes.get("active", {}).get("after"))
    return True


def person_behind(actor: str, at: datetime) -> str:
    """Return the person who acted, or who created the key that acted. A key's name can be reused, so `at` selects the
    key.
    """
    if not actor.startswith(ACTOR_PREFIX):
        return actor
    keys = ApiKey.objects.filter(name=actor.removeprefix(ACTOR_PREFIX), created_at__lte=at)
    key = keys.order_by("-api_key_id").first()
    return key.created_by if key is not None else actor
