"""What became of a task, read from the marks that its message has left; nothing else is kept about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connections
from django.utils import timezone

from signalbox.django_tasks.calls import is_call, task_of
from signalbox.django_tasks.interface import AnyResult, TaskError, TaskResult, TaskResultStatus
from signalbox.unreadable import decode

#: Message ids are bigint.
MOST_ID = 2**63 - 1

_STATUSES = {
    "pending": TaskResultStatus.READY,
    "failed": TaskResultStatus.READY,  # it rests until its retry
    "processing": TaskResultStatus.RUNNING,
    "completed": TaskResultStatus.SUCCESSFUL,
}
_ENDS = {"purged": "TaskPurged", "expired": "TaskExpired"}
_OWN_ERRORS = {"TaskTimeout", "ProcessDied", "LeaseExpired", *_ENDS.values()}
_STORY = """
select queue, status, settled_at, result::text, payload::text, sent_at, deliveries::text
from signalbox.message_story(message_id => %s::bigint)
"""


@dataclass(frozen=True)
class Story:
    """What the database knows of one message."""

    queue: str
    status: str
    settled_at: datetime | None
    result: Any
    payload: Any
    sent_at: datetime
    deliveries: list[dict[str, Any]]


def story_of(result_id: str, database: str) -> Story | None:
    """The story of the message that is a task's; None when there is none."""
    if not (result_id.isascii() and result_id.isdigit() and 0 < int(result_id) <= MOST_ID):
        return None
    with connections[database].cursor() as cursor:
        cursor.execute(_STORY, [int(result_id)])
        row = cursor.fetchone()
    if row is None:
        return None
    queue, status, settled_at, result, payload, sent_at, deliveries = row
    story = Story(
        queue=queue,
        status=status,
        settled_at=settled_at,
        result=decode(result or "null", "result"),
        payload=decode(payload or "null"),
        sent_at=sent_at,
        deliveries=json.loads(deliveries),
    )
    return story if is_call(story.payload) else None


def result_of(result_id: str, story: Story) -> AnyResult:
    """The task's result as Django knows it."""
    deliveries = story.deliveries
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
        errors=[_error(delivery) for delivery in deliveries if delivery["reason"]] + _withdrawn(story.status),
        worker_ids=[delivery["consumer"] or "unknown" for delivery in deliveries],
    )
    object.__setattr__(result, "_return_value", story.result)
    return result


def local(moment: datetime) -> datetime:
    """The moment as the project's settings want it, aware or naive."""
    return timezone.make_naive(moment) if timezone.is_aware(moment) and not settings.USE_TZ else moment


def _moment(text: str) -> datetime:
    return local(datetime.fromisoformat(text))


def _error(delivery: Mapping[str, Any]) -> TaskError:
    name = delivery["error_class"] or "Exception"
    return TaskError(
        exception_class_path=path_of(name), traceback=delivery["details"] or f"{name}: {delivery['error'] or ''}\n"
    )


def path_of(name: str) -> str:
    """Where to import the class from that a failure names: the bare ones are built in, or words of the engine."""
    if name in _OWN_ERRORS:
        return f"signalbox.django_tasks.errors.{name}"
    return name if "." in name else f"builtins.{name}"


def _withdrawn(status: str) -> list[TaskError]:
    if status not in _ENDS:
        return []
    return [TaskError(exception_class_path=path_of(_ENDS[status]), traceback=f"The task was {status}.\n")]
