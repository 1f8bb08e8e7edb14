"""The task backend: enqueueing a task sends a message in the current transaction."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar

from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils import timezone

from signalbox.client import Client
from signalbox.django_tasks.interface import (
    AnyResult,
    AnyTask,
    BaseTaskBackend,
    Task,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from signalbox.django_tasks.results import local, payload_of, result_of, sent_at_of, story_of

P = ParamSpec("P")
R = TypeVar("R")


class SignalboxBackend(BaseTaskBackend):
    """A task backend that sends each task as a message to the queue of the task.

    The only option is `database`, the alias of the database with Signalbox. A task that is enqueued in a transaction
    exists only if the transaction commits, so `on_commit` is not needed.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        if unknown := sorted(set(self.options) - {"database"}):
            raise ImproperlyConfigured(f"OPTIONS of the task backend {alias!r} has {unknown[0]!r}: allowed: database")
        self.database: str = self.options.get("database", DEFAULT_DB_ALIAS)

    def enqueue(self, task: Task[P, R], args: Any, kwargs: Any) -> TaskResult[P, R]:
        """Send the task as a message. Raises the errors of `Client.send`: no such queue, too large, a quota."""
        self.validate_task(task)
        result: TaskResult[P, R] = TaskResult(
            task=task,
            id="",
            status=TaskResultStatus.READY,
            enqueued_at=local(timezone.now()),
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=args,
            kwargs=kwargs,
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )  # converts the arguments into JSON, or raises an error
        message_id = self._client().send(
            task.queue_name,
            payload_of(task, result.args, result.kwargs),
            attributes={"task": task.module_path},
            priority=engine_priority(task.priority),
            delay_seconds=_delay_seconds(task),
        )
        object.__setattr__(result, "id", str(message_id))
        if sent_at := sent_at_of(message_id, task.queue_name, self.database):  # the clock of started_at and finished_at
            object.__setattr__(result, "enqueued_at", sent_at)
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> AnyResult:
        """Read the result of a task, as long as its message or history is kept."""
        story = story_of(result_id, self.database)
        if story is None or story.payload["backend"] != self.alias:
            raise TaskResultDoesNotExist(result_id)
        return result_of(result_id, story)

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        """Check that the database is configured and that it is PostgreSQL."""
        named = f"The task backend {self.alias!r} names the database {self.database!r}, which"
        if self.database not in connections.settings:
            return [checks.Error(f"{named} DATABASES has not.", id="signalbox.E001")]
        if connections[self.database].vendor != "postgresql":
            return [checks.Error(f"{named} is not PostgreSQL.", id="signalbox.E002")]
        return []

    def _client(self) -> Client:
        """Make a client over this thread's connection: a send joins its transaction."""
        wrapper = connections[self.database]
        wrapper.ensure_connection()
        return Client(wrapper.connection)


def _delay_seconds(task: AnyTask) -> float | None:
    """The delay in seconds; None for the queue's own delay."""
    if task.run_after is None:
        return None
    due = task.run_after if timezone.is_aware(task.run_after) else timezone.make_aware(task.run_after)
    return max(0.0, (due - datetime.now(UTC)).total_seconds())


def engine_priority(priority: int) -> int:
    """Convert Django's priority (-100 to 100) into the engine's (0 to 9). Django's 0 becomes 4.

    The order of priorities stays; within a level tasks run in the order in which they were enqueued.
    """
    if priority > 0:
        return 4 + (priority + 19) // 20
    return 4 - (-priority + 24) // 25
