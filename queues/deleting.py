"""Deleting a queue that is empty, without losing what somebody is about to send to it.

A sender reads the queue's row and locks nothing, so that nobody waits for it. Therefore a queue is closed first; then
whoever found it open may finish; then it is looked at again, and goes. If anything is in the way it is opened again.
"""

from __future__ import annotations

import time
from typing import Any

from django.db import connection, transaction

from queues import audit
from queues.errors import QueueInUse, QueueNotFound, translated
from queues.models import Queue

PATIENCE_SECONDS = 5.0  # for transactions that were open when the queue was closed
LOOK_SECONDS = 0.02

Row = tuple[Any, ...]


def delete_queue(name: str, *, actor: str, reason: str = "", patience_seconds: float = PATIENCE_SECONDS) -> None:
    """Delete the queue, with an audit row. Raises `QueueInUse`, which says what is in the way, and `QueueNotFound`.

    Call it outside a transaction: it makes two.
    """
    was_closed = _close(name, actor)
    try:
        version, before = _version(name), _open_transactions()
        _wait_for_end_of(before, patience_seconds)
        _delete(name, version, before, actor, reason)
    except BaseException:
        if not was_closed:
            _set_closed(name, False, actor, "queue.reopen", "it could not be deleted")
        raise


def obstacle(name: str) -> str:
    """What is in the way of deleting the queue, as a sentence; empty when nothing is. Raises `QueueNotFound`."""
    queue = Queue.objects.filter(name=name).first()
    if queue is None:
        raise QueueNotFound(f"queue '{name}' does not exist")
    try:
        with transaction.atomic(), translated():
            _refuse_in_use(queue)
    except QueueInUse as error:
        return str(error)
    return ""


def _refuse_in_use(queue: Queue) -> None:
    _ask("select signalbox._refuse_queue_in_use(q) from signalbox.queue q where q.queue_id = %s", queue.queue_id)


def _close(name: str, actor: str) -> bool:
    """Refuse at once what is plainly in use; else close it. True: it was closed already."""
    with transaction.atomic(), translated():
        queue = Queue.objects.select_for_update(no_key=True).filter(name=name).first()
        if queue is None:
            raise QueueNotFound(f"queue '{name}' does not exist")
        _refuse_in_use(queue)
        if not queue.closed:
            _set_closed(name, True, actor, "queue.close", "to delete it")
        return queue.closed


def _set_closed(name: str, closed: bool, actor: str, action: str, reason: str) -> None:
    with transaction.atomic():
        queue = Queue.objects.select_for_update(no_key=True).filter(name=name).first()
        if queue is not None:
            queue.closed = closed
            queue.save(update_fields=["closed"])
            audit.record(actor, action, queue, reason)


def _wait_for_end_of(before: set[str], patience_seconds: float) -> None:
    ends_at = time.monotonic() + patience_seconds
    while before & _open_transactions() and time.monotonic() < ends_at:
        time.sleep(LOOK_SECONDS)


def _delete(name: str, version: str | None, before: set[str], actor: str, reason: str) -> None:
    with transaction.atomic(), translated():
        queue = Queue.objects.select_for_update().filter(name=name).first()
        if queue is None:
            raise QueueNotFound(f"queue '{name}' does not exist")
        if _version(name) != version:
            raise QueueInUse(f"queue '{name}' was changed, and perhaps open, while it was being deleted")
        with audit.acting(actor, reason):
            _ask("select signalbox.delete_queue(%s, %s::text[])", name, sorted(before))


def _version(name: str) -> str | None:
    """Which version of its row this is: somebody else may have opened it, and another closed it again."""
    found = _ask("select xmin::text from signalbox.queue where name = %s", name)
    return found[0][0] if found else None


def _open_transactions() -> set[str]:
    ((found,),) = _ask("select signalbox.open_transactions()")
    return set(found)


def _ask(statement: str, *parameters: Any) -> list[Row]:
    """Past Django's cursor, which would make errors of its own of the database's refusals."""
    connection.ensure_connection()
    rows: list[Row] = connection.connection.execute(statement, parameters).fetchall()
    return rows
