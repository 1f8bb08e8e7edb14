"""The Celery application that runs the console's long jobs: `celery -A console worker`.

A task is only a kick: the truth about a job is its row in the database, so a lost or doubled
message of the broker is harmless.
"""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_init
from django.db import OperationalError, connection

import signalbox.celery_broker  # noqa: F401 - a checkout has no entry points

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

app = Celery("signalbox")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect  # type: ignore[untyped-decorator]
def wake_database(**_: Any) -> None:
    """An embedded server runs while somebody uses it by Django's connection; a broker's connection is none."""
    try:
        connection.ensure_connection()
    except OperationalError:
        return  # the worker says so, and tries again
    connection.close()
