"""Plan and apply the changes that a file declares: in one transaction, each change with its audit row.

A plan runs the same transaction and rolls it back, so that a refusal of the engine is known before a person confirms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from django.db import transaction

from queues.control import deletion, queues, quotas
from queues.control.as_code.document import DeclaredQueue, Document, defaults
from queues.database.query import fetch
from queues.errors import InvalidArgument, SignalboxError
from queues.models import Queue, Tenant
from queues.settings import QUOTAS

Kind = Literal["create", "change", "quota", "delete"]


@dataclass(frozen=True)
class Change:
    """A change of one queue or of one tenant's quotas; `values` are settings before and after."""

    kind: Kind
    name: str
    values: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    queue: DeclaredQueue | None = None

    @property
    def after(self) -> dict[str, Any]:
        return {name: after for name, (_, after) in self.values.items()}


@dataclass(frozen=True)
class Changes:
    """Changes in the order in which they are made, the number of unchanged queues, and queues missing in the file."""

    changes: list[Change]
    unchanged: int
    undeclared: list[str]


class Stale(SignalboxError):  # noqa: N818 - as in signalbox.errors
    """The configuration has changed since the plan was made."""


def plan(document: Document, *, prune: bool = False) -> Changes:
    """Plan the changes of a document. Raises `InvalidArgument` with the path of a value that would be refused."""
    changes = compare(document, prune=prune)
    with transaction.atomic():
        _make(changes.changes, actor="rehearsal", reason="")
        transaction.set_rollback(True)
    return changes


def apply(document: Document, planned: Changes, *, prune: bool = False, actor: str, reason: str = "") -> None:
    """Apply the planned changes, or none; raises `Stale` when the database has changed since the plan."""
    with transaction.atomic():
        list(Queue.objects.select_for_update(no_key=True).order_by("queue_id").filter(name__in=list(document.queues)))
        if compare(document, prune=prune) != planned:
            raise Stale("the configuration has changed since the plan was made: look at the plan again")
        _make(planned.changes, actor=actor, reason=reason)


def delete(planned: Changes, *, actor: str, reason: str = "") -> Iterator[tuple[str, str]]:
    """Delete the queues that the plan deletes, each by itself; yield (name, obstacle or an empty text)."""
    for change in planned.changes:
        if change.kind == "delete":
            obstacle = ""
            try:
                deletion.delete_queue(change.name, actor=actor, reason=reason)
            except SignalboxError as error:
                obstacle = str(error)
            yield change.name, obstacle


def compare(document: Document, *, prune: bool = False) -> Changes:
    """Compare a document with the database. `prune` deletes queues that it does not name, but no dead-letter queues."""
    rows = {row.name: row for row in Queue.objects.select_related("tenant").order_by("name")}
    ceilings = dict(Tenant.objects.values_list("name", "max_retention_seconds"))
    compared = [_queue_change(queue, rows.get(queue.name), ceilings) for queue in document.queues.values()]
    changes = [change for change in compared if change]
    changes += _quota_changes(document)
    undeclared = [name for name, row in rows.items() if name not in document.queues and not row.is_dead_letter_queue]
    if prune:
        changes += [Change("delete", name) for name in undeclared]
    return Changes(changes, len(compared) - sum(change is not None for change in compared), undeclared)


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
    """Compare the quotas of tenants that the file names: a quota that it does not name is no limit."""
    tenants = {tenant.name: tenant for tenant in Tenant.objects.filter(name__in=list(document.tenants))}
    for name, wanted in document.tenants.items():
        both = {quota: (getattr(tenants.get(name), quota, 0), wanted.get(quota, 0)) for quota in QUOTAS}
        if values := {quota: (before, after) for quota, (before, after) in both.items() if before != after}:
            yield Change("quota", name, values)


def _make(changes: list[Change], *, actor: str, reason: str) -> None:
    for change in changes:
        try:
            _make_one(change, actor, reason)
        except SignalboxError as error:
            section = "tenants" if change.kind == "quota" else "queues"
            path = ".".join(part for part in (section, change.name, getattr(error, "field", None)) if part)
            raise InvalidArgument(f"{path}: {error}", field=path) from None


def _make_one(change: Change, actor: str, reason: str) -> None:
    if change.kind == "quota":
        Tenant.objects.get_or_create(name=change.name)
        quotas.set_quota(change.name, change.after, actor=actor, reason=reason)
    elif change.kind == "change":
        queues.configure_queue(change.name, change.after, actor=actor, reason=reason)
    elif change.kind == "create" and change.queue is not None:
        if change.queue.keeps_dead_letters:
            # The tenant is made when it does not exist, as `create_queue` does.
            tenant, _ = Tenant.objects.get_or_create(name=change.queue.tenant)
            fetch("select signalbox._make_dead_letter_queue(%s, %s)", [change.name, tenant.tenant_id])
            queues.configure_queue(change.name, change.after, actor=actor, reason=reason)
        else:
            queues.create_queue(change.name, change.after, tenant=change.queue.tenant, actor=actor)
