"""What a provider says about somebody, and the roles that this gives them here: none unless settings say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from console.roles import ROLES

Claims = Mapping[str, Any]
MOST_VALUES = 1_000


@dataclass(frozen=True)
class Held:
    """A role for all queues, or none, and (role, tenant) for the queues of some tenants."""

    role: str = ""
    tenants: frozenset[tuple[str, str]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.role or self.tenants)


def held_by(claims: Claims) -> Held:
    """The largest role that any value of the claim stands for, and all that it stands for in tenants."""
    values = set(values_of(claims, settings.OIDC_CLAIM))
    given = {settings.OIDC_ROLES[value] for value in values if value in settings.OIDC_ROLES}
    role = next((one for one in reversed(ROLES) if one in given), "")
    tenants = frozenset((one, tenant) for value, one, tenant in settings.OIDC_TENANTS if value in values)
    return Held(role, tenants)


def values_of(claims: Claims, name: str) -> list[str]:
    """The words of a claim, be it one or a list; `realm_access.roles` is looked for within others."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
    listed = found if isinstance(found, list) else [found]
    return [one for one in listed[:MOST_VALUES] if isinstance(one, str)]
