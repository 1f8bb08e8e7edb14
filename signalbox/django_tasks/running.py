"""The handler that runs the task named by a message. Retries, timeouts and dead letters are as for any message.

    manage.py worker default signalbox.django_tasks:run
    python -m signalbox.worker default signalbox.django_tasks:run_async

`run` runs any task. With `run_async`, async tasks share one process.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections
from django.utils import timezone

from signalbox.django_tasks.errors import NotATask
from signalbox.django_tasks.interface import (
    AnyResult,
    AnyTask,
    TaskContext,
    TaskError,
    TaskResultStatus,
    normalize_json,
    task_backends,
    task_finished,
    task_started,
)
from signalbox.django_tasks.results import is_call, local, path_of, result_of, story_of
from signalbox.errors import InvalidArgument
from signalbox.logs.errors import name_of
from signalbox.messages import Message
from signalbox.payloads.encoding import RESULT_BYTES, encode_within
from signalbox.worker.handlers.naming import keeps_results
from signalbox.worker.handlers.outcomes import Defer, Reject, bounded

logger = logging.getLogger(__name__)


@keeps_results
def run(message: Message) -> Any:
    """Run the task of a message and return its result as JSON."""
    with _healthy_connections():
        attempt = Attempt.begin(message)
        try:
            value = attempt.task.call(*attempt.arguments, **attempt.result.kwargs)
        except BaseException as error:
            attempt.fail(error)
            raise
        return attempt.succeed(value)


@keeps_results
async def run_async(message: Message) -> Any:
    """Run the task of a message in the event loop, or in a thread if it is not async; returns its result as JSON."""
    attempt = await sync_to_async(_begin)(message)
    try:
        value = await attempt.task.acall(*attempt.arguments, **attempt.result.kwargs)
    except asyncio.CancelledError:  # stopped: the worker settles the message
        raise
    except BaseException as error:
        await sync_to_async(attempt.fail)(error)
        raise
    return await sync_to_async(attempt.succeed)(value)


@dataclass
class Attempt:
    """One run of a task."""

    message: Message
    result: AnyResult
    queue: str
    database: str

    @property
    def task(self) -> AnyTask:
        return self.result.task

    @property
    def arguments(self) -> list[Any]:
        """The arguments of the call; a task that takes the context gets it first."""
        return (
            [TaskContext(task_result=self.result), *self.result.args] if self.task.takes_context else self.result.args
        )

    @classmethod
    def begin(cls, message: Message) -> Attempt:
        """Prepare the task that a message names. A message that names no task is rejected."""
        _set_up()
        if not is_call(message.payload):
            raise Reject("This message is not a task")
        backend = task_backends[message.payload["backend"]]
        database = getattr(backend, "database", DEFAULT_DB_ALIAS)
        story = story_of(str(message.id), database)
        if story is None:
            raise Reject("This message is unknown to the database")
        try:
            attempt = cls(message, result_of(str(message.id), story), story.queue, database)
        except NotATask as error:
            raise Reject(str(error)) from error
        object.__setattr__(attempt.result, "status", TaskResultStatus.RUNNING)
        task_started.send(type(backend), task_result=attempt.result)
        return attempt

    def succeed(self, value: Any) -> Any:
        """Return the result of the task as JSON; a result that cannot be stored makes the task fail without a retry."""
        try:
            returned = normalize_json(value)
            encode_within(RESULT_BYTES, returned, "result")
        except (TypeError, ValueError, InvalidArgument) as error:
            refusal = Reject(f"The task ran, but its result cannot be stored: {error}")
            refusal.__cause__ = error
            self.fail(refusal)
            raise refusal from error
        object.__setattr__(self.result, "_return_value", returned)
        self._finish(TaskResultStatus.SUCCESSFUL)
        return returned

    def fail(self, error: BaseException) -> None:
        """Send Django's signal for a failed task, if this was the last attempt. A deferred task has not failed."""
        if isinstance(error, Defer):
            return
        if isinstance(error, Reject) or self._is_last():
            recorded = error.__cause__ if isinstance(error, Reject) and error.__cause__ else error
            stack = bounded("".join(traceback.format_exception(error)))
            self.result.errors.append(TaskError(exception_class_path=path_of(name_of(recorded)), traceback=stack))
            self._finish(TaskResultStatus.FAILED)

    def _finish(self, status: TaskResultStatus) -> None:
        object.__setattr__(self.result, "status", status)
        object.__setattr__(self.result, "finished_at", local(timezone.now()))
        task_finished.send(type(self.task.get_backend()), task_result=self.result)

    def _is_last(self) -> bool:
        """Return whether this was the last delivery; False when the database cannot be asked."""
        try:
            with connections[self.database].cursor() as cursor:
                cursor.execute(_IS_LAST, [self.message.id, self.message.receive_count, self.queue])
                row = cursor.fetchone()
        except Exception:
            logger.exception("Could not read the setting max_receives of queue %s", self.queue)
            return False
        return row is not None and bool(row[0])


_IS_LAST = "select signalbox._counted_receives(%s, %s) >= max_receives from signalbox.queue where name = %s"


def _begin(message: Message) -> Attempt:
    with _healthy_connections():
        return Attempt.begin(message)


@contextmanager
def _healthy_connections() -> Iterator[None]:
    """Drop connections that are broken or too old, before and after, as Django does around a request."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


@functools.cache
def _set_up() -> None:
    """Set up Django unless a command of Django has done so: for `python -m signalbox.worker`."""
    if not (settings.configured and apps.ready):
        django.setup()
