"""`python -m tests.proof.matrix.walk_through_tasks QUEUE FOLDER`: tasks of Django's own interface, and a real worker.

It prints the version of Django when everything was as docs/use/django-tasks.md says.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import django

django.setup()

from django.db import transaction  # noqa: E402 - the project is set up first
from django.tasks import TaskResultStatus  # noqa: E402

from signalbox import Client, QueueNotFound  # noqa: E402
from tests.signalbox.django_tasks import tasks  # noqa: E402

WITHIN_SECONDS = 120


def main(queue: str, folder: Path) -> None:
    with Client(os.environ["DATABASE_URL"]) as client:
        client.create_queue(queue, {"backoff_base_seconds": 0, "max_receives": 2})
    results = enqueue(queue, folder)
    command = [sys.executable, "-m", "signalbox.worker", queue, "signalbox.django_tasks:run", "--poll-interval=0.1"]
    with subprocess.Popen([*command, "--dsn", os.environ["DATABASE_URL"]]) as worker:
        try:
            for result in results.values():
                finish(result)
        finally:
            worker.terminate()
    assert {name: result.return_value for name, result in results.items() if name != "failed"} == {
        "sum": 3,
        "later": 7,
        "at_once": 11,
        "second_time": "done",
    }
    assert results["failed"].status == TaskResultStatus.FAILED
    assert [error.exception_class for error in results["failed"].errors] == [KeyError, KeyError]
    assert tasks.add.get_result(results["sum"].id) == results["sum"]
    sys.stdout.write(django.get_version())


def enqueue(queue: str, folder: Path) -> dict[str, Any]:
    """Enqueue each kind of task; one is withdrawn by a rollback, and one has no queue."""
    try:
        with transaction.atomic():
            tasks.add.using(queue_name=queue).enqueue(100, 100)
            raise InterruptedError
    except InterruptedError:
        pass
    try:
        tasks.add.using(queue_name=f"{queue}-none").enqueue(1)
        raise AssertionError("there is no such queue")
    except QueueNotFound:
        pass
    return {
        "sum": tasks.add.using(queue_name=queue).enqueue(1, b=2),
        "later": tasks.add_later.using(queue_name=queue).enqueue(3, 4),
        "at_once": asyncio.run(tasks.add.using(queue_name=queue).aenqueue(5, 6)),
        "second_time": tasks.fail_at_first.using(queue_name=queue).enqueue(str(folder / "tried")),
        "failed": tasks.fail.using(queue_name=queue).enqueue("always"),
    }


def finish(result: Any) -> None:
    deadline = time.monotonic() + WITHIN_SECONDS
    while not result.is_finished:
        assert time.monotonic() < deadline, result
        time.sleep(0.02)
        result.refresh()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
