"""Making the database as a file says: all that is made and changed in one transaction, each with its audit row.

A plan is rehearsed: the same transaction, rolled back. So what the engine would refuse is known before anybody agrees.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection, transaction

from queues import control, deleting, quotas
from queues.as_code.changes import Change, Changes, compare
from queues.as_code.document import Document
from queues.errors import InvalidArgument, SignalboxError
from queues.models import Queue


class Stale(SignalboxError):  # noqa: N818 - as in signalbox.errors
    """Somebody has changed the configuration since the plan was made."""


def plan(document: Document, *, prune: bool = False) -> Changes:
    """What applying the document would do; raises `InvalidArgument` naming the path of what would be refused."""
    changes = compare(document, prune=prune)
    with transaction.atomic():
        _make(changes.changes, actor="rehearsal", reason="")
        transaction.set_rollback(True)
    return changes


def apply(document: Document, planned: Changes, *, prune: bool = False, actor: str, reason: str = "") -> None:
    """Do what was planned, or nothing; raises `Stale` when something else would have to be done by now."""
    with transaction.atomic():
        list(Queue.objects.select_for_update(no_key=True).order_by("queue_id").filter(name__in=list(document.queues)))
        if compare(document, prune=prune) != planned:
            raise Stale("the configuration has changed since the plan was made: look at the plan again")
        _make(planned.changes, actor=actor, reason=reason)


def delete(planned: Changes, *, actor: str, reason: str = "") -> Iterator[tuple[str, str]]:
    """Delete the queues that the plan deletes, each for itself: (name, why it was not, or nothing)."""
    for change in planned.changes:
        if change.kind == "delete":
            try:
                deleting.delete_queue(change.name, actor=actor, reason=reason)
            except SignalboxError as error:
                yield change.name, str(error)
            else:
                yield change.name, ""


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
        _tenant(change.name)
        quotas.set_quota(change.name, change.after, actor=actor, reason=reason)
    elif change.kind == "change":
        control.configure_queue(change.name, change.after, actor=actor, reason=reason)
    elif change.kind == "create" and change.queue is not None:
        if change.queue.keeps_dead_letters:
            _make_dead_letter_queue(change.name, change.queue.tenant)
            control.configure_queue(change.name, change.after, actor=actor, reason=reason)
        else:
            control.create_queue(change.name, change.after, tenant=change.queue.tenant, actor=actor)


def _make_dead_letter_queue(name: str, tenant: str) -> None:
    tenant_id = _tenant(tenant)
    with connection.cursor() as cursor:
        cursor.execute("select signalbox._make_dead_letter_queue(%s, %s)", [name, tenant_id])


def _tenant(name: str) -> int:
    """The id of the tenant, which is made when it does not exist, as `create_queue` does."""
    with connection.cursor() as cursor:
        cursor.execute("insert into signalbox.tenant (name) values (%s) on conflict do nothing", [name])
    return quotas.get_tenant(name).tenant_id
