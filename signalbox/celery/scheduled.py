"""`celery inspect scheduled` from the database: an ETA is a delay there, and no worker holds the task.

Importing this module puts its command in the place of Celery's. Every worker answers for the queues that it consumes.
"""

from __future__ import annotations

from typing import Any

from celery.worker import control

from signalbox.celery import calls
from signalbox.celery.calls import Delayed, engine_name
from signalbox.celery.envelopes import described

#: The most tasks in one answer, those that are due first.
MAX_TASKS = 1_000

_held_by_worker = control.scheduled


@control.inspect_command(alias="dump_schedule")  # type: ignore[untyped-decorator]
def scheduled(state: Any, **_: Any) -> list[dict[str, Any]]:
    """List tasks with an ETA or a countdown, and tasks that wait for their next try."""
    held: list[dict[str, Any]] = _held_by_worker(state)
    verbs = getattr(state.consumer.connection.transport, "verbs", None)
    if verbs is None:
        return held  # the broker of another application
    names = {engine_name(queue.name): queue.name for queue in state.consumer.task_consumer.queues}
    delayed = verbs._run(calls.delayed_messages(list(names), MAX_TASKS))
    return held + [_shown(one, names[one.queue], state.hostname) for one in delayed]


def _shown(delayed: Delayed, queue: str, hostname: str) -> dict[str, Any]:
    task = described(delayed.payload, delayed.message_id)
    return {
        "eta": task.pop("eta") or delayed.due_at.isoformat(),
        "priority": delayed.priority,
        "request": {
            **task,
            "type": task["name"],
            "hostname": hostname,
            "time_start": None,
            "acknowledged": False,
            "delivery_info": {"routing_key": queue, "priority": delayed.priority, "redelivered": delayed.retried},
            "worker_pid": None,
        },
    }
