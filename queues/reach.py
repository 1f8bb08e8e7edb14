"""The queues that a person or key reaches: all, those of a tenant, those with a name prefix, or several of these.

The check has three forms, so that console, API and jobs agree: for one queue in Python (`holds`), for rows in Django
(`among`), and for rows in SQL (`condition`). Prefixes use the index of queue names. A queue out of reach is reported as
a queue that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, LiteralString

from django.db.models import Q

from queues.errors import InvalidArgument

SYSTEM_TENANT = "system"
"""The tenant of Signalbox's own queues. No API key and no grant reaches them; a role for all queues may only look."""
SYSTEM_QUEUES = frozenset({"signalbox", "signalbox-pipeline"})
"""Names that only the tenant `system` may use: Signalbox's workers receive their tasks from such a queue."""

_WILDCARD = re.compile(r"[\\%_]")


@dataclass(frozen=True)
class Bounds:
    """The queues of one tenant (None: of any) whose names begin with `prefix`."""

    tenant: str | None = None
    prefix: str = ""

    def __str__(self) -> str:
        queues = f"{self.prefix}*" if self.prefix else "all queues"
        return f"{queues} of {self.tenant}" if self.tenant is not None else queues

    @property
    def is_everything(self) -> bool:
        return self.tenant is None and not self.prefix

    def holds(self, queue: str, tenant: str) -> bool:
        """Tell whether a queue of this name and tenant lies within."""
        return self.tenant in (None, tenant) and queue.startswith(self.prefix)

    def covers(self, other: Bounds) -> bool:
        """Tell whether these bounds include all of the others."""
        return self.tenant in (None, other.tenant) and other.prefix.startswith(self.prefix)


@dataclass(frozen=True)
class QueueIdentity:
    """The name and tenant by which a queue is reached. `sources`: queues of the tenant whose dead letters it keeps."""

    queue: str
    tenant: str
    sources: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.queue

    @property
    def is_system(self) -> bool:
        """Tell whether it belongs to Signalbox itself."""
        return self.tenant == SYSTEM_TENANT

    def is_within(self, reach: Reach) -> bool:
        """Tell whether it is reached; a dead-letter queue also when all queues that use it are."""
        within = [reach.holds(name, self.tenant) for name in (self.queue, *self.sources)]
        return any(within) and all(within[1:])


@dataclass(frozen=True)
class Reach:
    """The queues within any of several bounds. Queues of the tenant `system` are reached only with `with_system`."""

    bounds: tuple[Bounds, ...] = ()
    with_system: bool = False

    @classmethod
    def of(cls, bounds: Iterable[Bounds]) -> Reach:
        """Combine bounds, without those that lie within others."""
        known = list(dict.fromkeys(bounds))
        inner = {bound for bound in known for other in known if bound != other and other.covers(bound)}
        return cls(tuple(bound for bound in known if bound not in inner))

    def __bool__(self) -> bool:
        return bool(self.bounds)

    def __str__(self) -> str:
        return ", ".join(str(bound) for bound in self.bounds)

    @property
    def is_everything(self) -> bool:
        """Tell whether every queue is reached, those of the tenant `system` included."""
        return self.with_system and self.has_all_tenants

    @property
    def has_all_tenants(self) -> bool:
        """Tell whether every queue is reached except those of the tenant `system`."""
        return any(bound.is_everything for bound in self.bounds)

    @property
    def whole_tenants(self) -> list[str] | None:
        """The tenants, when all queues of some tenants are reached and no others; None otherwise."""
        if not self.bounds or any(bound.tenant is None or bound.prefix for bound in self.bounds):
            return None
        return [bound.tenant for bound in self.bounds if bound.tenant is not None]

    def holds(self, queue: str, tenant: str) -> bool:
        """Tell whether a queue of this name and tenant is reached."""
        return self._admits(tenant) and any(bound.holds(queue, tenant) for bound in self.bounds)

    def holds_tenant(self, tenant: str) -> bool:
        """Tell whether every queue of the tenant is reached, future ones included."""
        return self._admits(tenant) and any(bound.covers(Bounds(tenant)) for bound in self.bounds)

    def touches_tenant(self, tenant: str) -> bool:
        """Tell whether a queue of the tenant may be reached."""
        return self._admits(tenant) and any(bound.tenant == tenant or bound.is_everything for bound in self.bounds)

    def covers(self, other: Reach) -> bool:
        """Tell whether all that the other reaches is reached."""
        if other.with_system and not self.with_system:
            return False
        return all(any(bound.covers(theirs) for bound in self.bounds) for theirs in other.bounds)

    def among(self, queue: str = "name", tenant: str = "tenant__name") -> Q:
        """The rows whose `queue` and `tenant`, as Django names the two columns, are reached."""
        if self.is_everything:
            return Q()
        if self.has_all_tenants:
            return ~Q(**{tenant: SYSTEM_TENANT})
        reached = Q(pk__in=[])
        for bound in self.bounds:
            of_tenant = Q() if bound.tenant is None else Q(**{tenant: bound.tenant})
            reached |= of_tenant & (Q(**{f"{queue}__startswith": bound.prefix}) if bound.prefix else Q())
        return reached if self.with_system or not self.bounds else reached & ~Q(**{tenant: SYSTEM_TENANT})

    def _admits(self, tenant: str) -> bool:
        return self.with_system or tenant != SYSTEM_TENANT

    def condition(
        self, queue: LiteralString = "q.name", tenant: LiteralString = "o.name"
    ) -> tuple[LiteralString, list[Any]]:
        """Write the condition in SQL, for use after `and`, with its parameters."""
        if self.is_everything:
            return "true", []
        parts: list[LiteralString] = ["false"]
        params: list[Any] = []
        for bound in self.bounds:
            terms: list[LiteralString] = []
            if bound.tenant is not None:
                terms.append(f"{tenant} = %s")
                params.append(bound.tenant)
            if bound.prefix:
                terms.append(f"{queue} like %s")
                params.append(_WILDCARD.sub(r"\\\g<0>", bound.prefix) + "%")
            parts.append(f"({' and '.join(terms) or 'true'})")
        if self.with_system or not self.bounds:
            return f"({' or '.join(parts)})", params
        return f"(({' or '.join(parts)}) and {tenant} <> %s)", [*params, SYSTEM_TENANT]


def check_reserved(name: str, tenant: str | None) -> None:
    """Refuse a queue that only Signalbox may create: in the tenant `system`, or with a name that its workers use."""
    if tenant == SYSTEM_TENANT:
        raise InvalidArgument(f"tenant is {tenant!r}: it is reserved for Signalbox's own queues; use another", "tenant")
    if name in SYSTEM_QUEUES:
        raise InvalidArgument(f"name is {name!r}: it is reserved for Signalbox's own tasks; use another", "name")


EVERYTHING = Reach((Bounds(),), with_system=True)
NOTHING = Reach()
