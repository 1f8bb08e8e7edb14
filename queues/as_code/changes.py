"""What would have to change for the database to be as a file says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from queues.as_code.document import DeclaredQueue, Document, defaults
from queues.errors import InvalidArgument
from queues.models import Queue, Tenant
from queues.quotas import QUOTAS

Kind = Literal["create", "change", "quota", "delete"]


@dataclass(frozen=True)
class Change:
    """One queue made, changed or deleted, or one tenant's quotas; `values` are settings before and after."""

    kind: Kind
    name: str
    values: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    queue: DeclaredQueue | None = None

    @property
    def after(self) -> dict[str, Any]:
        return {name: after for name, (_, after) in self.values.items()}


@dataclass(frozen=True)
class Changes:
    """All, in the order in which they are made; how many queues are as declared, and which are not in the file."""

    changes: list[Change]
    unchanged: int
    undeclared: list[str]


def compare(document: Document, *, prune: bool = False) -> Changes:
    """What differs. `prune`: queues that the file does not name are to be deleted, but never dead-letter queues."""
    rows = {row.name: row for row in Queue.objects.select_related("tenant").order_by("name")}
    ceilings = dict(Tenant.objects.values_list("name", "max_retention_seconds"))
    found = [_queue_change(queue, rows.get(queue.name), ceilings) for queue in document.queues.values()]
    changes = [change for change in found if change]
    changes += _quota_changes(document)
    undeclared = [name for name, row in rows.items() if name not in document.queues and not row.is_dead_letter_queue]
    if prune:
        changes += [Change("delete", name) for name in undeclared]
    return Changes(changes, len(found) - sum(change is not None for change in found), undeclared)


def _queue_change(queue: DeclaredQueue, row: Queue | None, ceilings: Mapping[str, float]) -> Change | None:
    usual = defaults(queue.keeps_dead_letters)
    if row is None:
        values = {name: (usual[name], value) for name, value in queue.settings.items()}
        return Change("create", queue.name, values, queue)
    if row.tenant.name != queue.tenant:
        words = f"is {queue.tenant!r}, and the queue belongs to {row.tenant.name!r}: queues do not change hands"
        raise InvalidArgument(f"queues.{queue.name}.tenant {words}", field=f"queues.{queue.name}.tenant")
    wanted = queue.values()
    if "retention_seconds" not in queue.settings and (ceiling := ceilings.get(queue.tenant)):
        wanted["retention_seconds"] = min(wanted["retention_seconds"], ceiling)  # as a new queue would begin
    values = {name: (getattr(row, name), value) for name, value in wanted.items() if getattr(row, name) != value}
    return Change("change", queue.name, values, queue) if values else None


def _quota_changes(document: Document) -> Iterator[Change]:
    """Of the tenants that the file names: a quota that is not named is no limit."""
    tenants = {tenant.name: tenant for tenant in Tenant.objects.filter(name__in=list(document.tenants))}
    for name, quotas in document.tenants.items():
        have = {quota: getattr(tenants.get(name), quota, 0) for quota in QUOTAS}
        values = {quota: (have[quota], quotas.get(quota, 0)) for quota in QUOTAS if have[quota] != quotas.get(quota, 0)}
        if values:
            yield Change("quota", name, values)
