"""Delete an empty queue without losing a message that is about to be sent to it.

A sender reads the queue's row without a lock, so that no sender waits. Therefore a queue is closed first; transactions
that found it open may finish; then it is checked again and deleted. If anything is in the way it is opened again.
"""

from __future__ import annotations

import time

from django.db import transaction

from queues import audit
from queues.database.query import verb_rows, verb_value
from queues.errors import QueueInUse, QueueNotFound
from queues.models import Queue

PATIENCE_SECONDS = 5.0  # for transactions that were open when the queue was closed
LOOK_SECONDS = 0.02


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
    """Say what prevents the deletion, as a sentence; empty when nothing does. Raises `QueueNotFound`."""
    queue = Queue.objects.filter(name=name).first()
    if queue is None:
        raise QueueNotFound(f"queue '{name}' does not exist")
    try:
        with transaction.atomic():
            _refuse_in_use(queue)
    except QueueInUse as error:
        return str(error)
    return ""


def _refuse_in_use(queue: Queue) -> None:
    verb_rows("select signalbox._refuse_queue_in_use(q) from signalbox.queue q where q.queue_id = %s", queue.queue_id)


def _close(name: str, actor: str) -> bool:
    """Close the queue, unless it is plainly in use; return whether it was closed before."""
    with transaction.atomic():
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
    with transaction.atomic():
        queue = Queue.objects.select_for_update().filter(name=name).first()
        if queue is None:
            raise QueueNotFound(f"queue '{name}' does not exist")
        if _version(name) != version:
            raise QueueInUse(f"queue '{name}' was changed, and perhaps open, while it was being deleted")
        with audit.acting(actor, reason):
            verb_rows("select signalbox.delete_queue(%s, %s::text[])", name, sorted(before))


def _version(name: str) -> str | None:
    """Read the version of the row: another person may have opened the queue, and a third closed it again."""
    version: str | None = verb_value("select xmin::text from signalbox.queue where name = %s", name)
    return version


def _open_transactions() -> set[str]:
    return set(verb_value("select signalbox.open_transactions()"))
