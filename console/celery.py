"""The Celery application of Signalbox: `celery -A console worker` runs jobs, with `-Q signalbox-pipeline` the pipeline.

Jobs that people start and runs of the pipeline have a queue and workers of their own, so that a redrive never waits
behind an archive run. A task only wakes a worker: the row of a job in the database has its state, so a lost or doubled
message of the broker changes nothing. A forged message changes nothing either: a task takes at most the id of a row,
does what that row asks for, and starts no other task.
"""

import os
from typing import Any

from celery import Celery
from celery.signals import task_prerun, worker_init
from django.db import OperationalError, connection

import signalbox.celery  # noqa: F401 - a checkout has no entry points

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

app = Celery("signalbox")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


KEPT_BUILT_IN = {"celery.backend_cleanup"}
"""The only built-in task of Celery to keep: beat sends it. The others would run any task that a message names."""


@app.on_after_finalize.connect  # type: ignore[untyped-decorator]
def forget_built_in_tasks(sender: Any, **_: Any) -> None:
    """Unregister Celery's built-in tasks, so that a message cannot start other tasks through them."""
    for name in [name for name in sender.tasks if name.startswith("celery.") and name not in KEPT_BUILT_IN]:
        sender.tasks.unregister(name)


@task_prerun.connect  # type: ignore[untyped-decorator]
def run_nothing_after(task: Any, **_: Any) -> None:
    """Drop the links and chains of a message. Signalbox's tasks have none, so a message with links is forged."""
    if task.app.main == app.main:
        task.request.update(callbacks=None, errbacks=None, chain=None, chord=None)


@worker_init.connect  # type: ignore[untyped-decorator]
def wake_database(**_: Any) -> None:
    """Start the embedded server by a Django connection: a connection of the broker would not start it."""
    try:
        connection.ensure_connection()
    except OperationalError:
        return  # the worker logs the outage and tries again
    connection.close()
