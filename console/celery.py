"""The Celery application that runs the console's long jobs: `celery -A console worker`.

A task is only a kick: the truth about a job is its row in the database, so a lost or doubled
message of the broker is harmless.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

app = Celery("signalbox")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
