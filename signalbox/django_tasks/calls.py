"""A task as a message, and back: which function, with what arguments, and what was asked of the run.

Only what was declared as a task is ever run: whoever can send a message cannot name any other function.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from signalbox.django_tasks.errors import NotATask
from signalbox.django_tasks.interface import AnyTask, Task, task_backends


def payload_of(task: AnyTask, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What the message carries."""
    return {
        "task": task.module_path,
        "args": args,
        "kwargs": kwargs,
        "backend": task.backend,
        "priority": task.priority,
        "run_after": task.run_after.isoformat() if task.run_after else None,
    }


def is_call(payload: object) -> bool:
    """Is this what a message carries that is a task?"""
    return (
        isinstance(payload, Mapping)
        and isinstance(payload.get("task"), str)
        and isinstance(payload.get("backend"), str)
        and isinstance(payload.get("args"), list)
        and isinstance(payload.get("kwargs"), Mapping)
    )


def task_of(payload: Mapping[str, Any], queue: str) -> AnyTask:
    """The task that the message names, as it was enqueued; ImportError when there is none of its name here.

    A queue that the backend does not send to, which a redrive may have chosen, stays unnamed.
    """
    try:
        found = pkgutil.resolve_name(payload["task"])
    except (AttributeError, ImportError, ValueError) as error:
        raise ImportError(f"The task {payload['task']} cannot be imported: {error}") from error
    if not isinstance(found, Task):
        raise NotATask(f"{payload['task']} is not a task")
    known = task_backends[payload["backend"]].queues
    run_after = payload.get("run_after")
    return found.using(
        priority=payload.get("priority"),
        queue_name=queue if not known or queue in known else None,
        run_after=datetime.fromisoformat(run_after) if run_after else None,
        backend=payload["backend"],
    )
