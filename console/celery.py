"""The Celery application that runs the console's long jobs: `celery -A console worker`.

A task only wakes a worker: the state of a job is its row in the database, so a lost or doubled
message of the broker is harmless. A forged message is harmless too: a task takes at most the id of a row, does
what that row still asks for, and starts no other task.
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
"""Celery's task that beat sends by itself. Celery's other built-in tasks run other tasks that a message names."""


@app.on_after_finalize.connect  # type: ignore[untyped-decorator]
def forget_built_in_tasks(sender: Any, **_: Any) -> None:
    """Unregister Celery's built-in tasks, so that a message cannot start other tasks through them."""
    for name in [name for name in sender.tasks if name.startswith("celery.") and name not in KEPT_BUILT_IN]:
        sender.tasks.unregister(name)


@task_prerun.connect  # type: ignore[untyped-decorator]
def run_nothing_after(task: Any, **_: Any) -> None:
    """Drop the links and chains of a message: our tasks have none, so a forger put them there."""
    if task.app.main == app.main:
        task.request.update(callbacks=None, errbacks=None, chain=None, chord=None)


@worker_init.connect  # type: ignore[untyped-decorator]
def wake_database(**_: Any) -> None:
    """Keep the embedded server running: it runs while a Django connection is open; a broker's is none."""
    try:
        connection.ensure_connection()
    except OperationalError:
        return  # the worker says so, and tries again
    connection.close()
