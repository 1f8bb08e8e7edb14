"""Addition and revocation of grants, each with its audit row in one transaction."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from console.access.api_keys.keys import checked_prefix, checked_tenant
from console.access.grants.models import Grant
from console.access.roles import ROLES
from queues import audit
from queues.errors import InvalidArgument
from queues.reach import Bounds

MAX_OF_ONE_PERSON = 50


def give(person: User, role: str, *, tenant: str | None, prefix: str, actor: str, reason: str = "") -> Grant:
    """Add a grant. Raises `InvalidArgument`, which names the field; then nothing is added."""
    bounds = checked(role, tenant, prefix)
    if person.get_username() == actor:
        raise InvalidArgument("another administrator must change your own grants", "person")
    try:
        with transaction.atomic():
            User.objects.select_for_update().get(pk=person.pk)  # so that two requests at once cannot exceed the limit
            if Grant.objects.filter(person=person).count() >= MAX_OF_ONE_PERSON:
                raise InvalidArgument(f"a person has at most {MAX_OF_ONE_PERSON} grants: revoke a grant first", "role")
            row = Grant(person=person, role=role, tenant_name=bounds.tenant, queue_prefix=bounds.prefix)
            row.created_by = actor
            row.save(force_insert=True)
            audit.record(actor, "grant.give", reason=reason, details=_details(row))
    except IntegrityError:
        raise InvalidArgument(f"{person.get_username()} is {role} for {bounds} already", "role") from None
    return row


def take(grant_id: int, *, actor: str, reason: str = "") -> Grant | None:
    """Revoke a grant. Return None if it was revoked before or does not exist."""
    with transaction.atomic():
        row = Grant.objects.select_for_update(of=("self",)).select_related("person").filter(pk=grant_id).first()
        if row is None:
            return None
        if row.person.get_username() == actor:
            raise InvalidArgument("another administrator must change your own grants", "person")
        audit.record(actor, "grant.take", reason=reason, details=_details(row))
        row.delete()
    return row


def checked(role: str, tenant: str | None, prefix: str) -> Bounds:
    """Return the queues of a new grant. Raises `InvalidArgument`."""
    if role not in ROLES:
        raise InvalidArgument(f"role is {role[:40]!r}: it must be one of {', '.join(ROLES)}", "role")
    bounds = Bounds(checked_tenant(tenant), checked_prefix(prefix))
    if bounds.is_everything:
        raise InvalidArgument(
            "tenant and prefix are empty: enter at least one. Set a role for all queues on the page People", "tenant"
        )
    return bounds


def _details(row: Grant) -> dict[str, Any]:
    return {
        "person": row.person.get_username(),
        "role": row.role,
        "tenant": row.tenant_name,
        "prefix": row.queue_prefix,
    }
