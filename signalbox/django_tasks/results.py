"""A task as a message, and its result, read from the message and its history; no other table stores it.

Only declared tasks are run: a sender cannot name any other function.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connections
from django.utils import timezone

from signalbox.django_tasks.errors import NotATask
from signalbox.django_tasks.interface import (
    AnyResult,
    AnyTask,
    Task,
    TaskError,
    TaskResult,
    TaskResultStatus,
    task_backends,
)
from signalbox.payloads.unreadable import decode

#: Message ids are bigint.
MAX_ID = 2**63 - 1

_STATUSES = {
    "pending": TaskResultStatus.READY,
    "failed": TaskResultStatus.READY,  # waits for its retry
    "processing": TaskResultStatus.RUNNING,
    "completed": TaskResultStatus.SUCCESSFUL,
}
_ENDS = {"purged": "TaskPurged", "expired": "TaskExpired"}
_OWN_ERRORS = {"TaskTimeout", "ProcessDied", "LeaseExpired", *_ENDS.values()}
_STORY = """
select queue, status, settled_at, sent_at, result::text, payload::text, deliveries::text
from signalbox.message_story(message_id => %s::bigint)
"""
_SENT_AT = """
select m.sent_at
from signalbox.queue q
join signalbox.message m on m.queue_id = q.queue_id and m.message_id = %s
where q.name = %s
"""


def payload_of(task: AnyTask, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The payload of the message for a call of a task."""
    return {
        "task": task.module_path,
        "args": args,
        "kwargs": kwargs,
        "backend": task.backend,
        "priority": task.priority,
        "run_after": task.run_after.isoformat() if task.run_after else None,
    }


def is_call(payload: object) -> bool:
    """Return whether this is the payload of a task."""
    return (
        isinstance(payload, Mapping)
        and isinstance(payload.get("task"), str)
        and isinstance(payload.get("backend"), str)
        and isinstance(payload.get("args"), list)
        and isinstance(payload.get("kwargs"), Mapping)
    )


def task_of(payload: Mapping[str, Any], queue: str) -> AnyTask:
    """The task that the message names, as it was enqueued; ImportError when there is none of its name here.

    The queue is left out if the backend does not send to it: a redrive may have sent the message there.
    """
    try:
        task = pkgutil.resolve_name(payload["task"])
    except (AttributeError, ImportError, ValueError) as error:
        raise ImportError(f"The task {payload['task']} cannot be imported: {error}") from error
    if not isinstance(task, Task):
        raise NotATask(f"{payload['task']} is not a task")
    known = task_backends[payload["backend"]].queues
    run_after = payload.get("run_after")
    return task.using(
        priority=payload.get("priority"),
        queue_name=queue if not known or queue in known else None,
        run_after=datetime.fromisoformat(run_after) if run_after else None,
        backend=payload["backend"],
    )


@dataclass(frozen=True)
class Story:
    """The facts about one message in the database."""

    queue: str
    status: str
    settled_at: datetime | None
    sent_at: datetime
    result: Any
    payload: Any
    deliveries: list[dict[str, Any]]


def story_of(result_id: str, database: str) -> Story | None:
    """Read the facts about the message of a task; None when there is no such task."""
    if not (result_id.isascii() and result_id.isdigit() and 0 < int(result_id) <= MAX_ID):
        return None
    with connections[database].cursor() as cursor:
        cursor.execute(_STORY, [int(result_id)])
        row = cursor.fetchone()
    if row is None:
        return None
    queue, status, settled_at, sent_at, result_text, payload_text, deliveries = row
    result, payload = decode(result_text or "null", "result"), decode(payload_text or "null")
    story = Story(queue, status, settled_at, sent_at, result, payload, json.loads(deliveries))
    return story if is_call(story.payload) else None


def sent_at_of(message_id: int, queue: str, database: str) -> datetime | None:
    """Read when a message was sent, by the database's clock; None if the queue was renamed since."""
    with connections[database].cursor() as cursor:
        cursor.execute(_SENT_AT, [message_id, queue])
        row = cursor.fetchone()
    return None if row is None else local(row[0])


def result_of(result_id: str, story: Story) -> AnyResult:
    """Make Django's result of a task from the facts about its message."""
    deliveries = story.deliveries
    errors = [_error(delivery) for delivery in deliveries if delivery["reason"]]
    if story.status in _ENDS:
        path = path_of(_ENDS[story.status])
        errors.append(TaskError(exception_class_path=path, traceback=f"The task was {story.status}.\n"))
    result: AnyResult = TaskResult(
        task=task_of(story.payload, story.queue),
        id=result_id,
        status=_STATUSES.get(story.status, TaskResultStatus.FAILED),
        enqueued_at=local(story.sent_at),
        started_at=_moment(deliveries[0]["leased_at"]) if deliveries else None,
        finished_at=local(story.settled_at) if story.settled_at else None,
        last_attempted_at=_moment(deliveries[-1]["leased_at"]) if deliveries else None,
        args=story.payload["args"],
        kwargs=story.payload["kwargs"],
        backend=story.payload["backend"],
        errors=errors,
        worker_ids=[delivery["consumer"] or "unknown" for delivery in deliveries],
    )
    object.__setattr__(result, "_return_value", story.result)
    return result


def local(moment: datetime) -> datetime:
    """Convert a time as the setting USE_TZ demands: aware, or naive."""
    return timezone.make_naive(moment) if timezone.is_aware(moment) and not settings.USE_TZ else moment


def _moment(text: str) -> datetime:
    return local(datetime.fromisoformat(text))


def _error(delivery: Mapping[str, Any]) -> TaskError:
    name = delivery["error_class"] or "Exception"
    return TaskError(
        exception_class_path=path_of(name), traceback=delivery["details"] or f"{name}: {delivery['error'] or ''}\n"
    )


def path_of(name: str) -> str:
    """The import path of the class of an error; a bare name is a builtin or a name of the engine."""
    if name in _OWN_ERRORS:
        return f"signalbox.django_tasks.errors.{name}"
    return name if "." in name else f"builtins.{name}"
