"""A Celery application over the broker of the product: its task leaves a row, and beat sends some of its own."""

from __future__ import annotations

import os
from urllib.parse import urlencode

from celery import Celery
from psycopg.conninfo import conninfo_to_dict

import signalbox.celery  # noqa: F401 - a checkout has no entry points
from tests.signalbox.celery.shop import Notes

QUEUE = "celery"
TASK = "chaos.note"
BEAT_SECONDS = 0.5
DSN = "CHAOS_DSN"


def token_of(payload: object) -> object:
    """Token of a task: its first argument, or None for a task sent by beat."""
    if isinstance(payload, dict):
        return payload["args"][0] if payload.get("task") == TASK else None
    return payload


def make_app() -> Celery:
    dsn = os.environ[DSN]
    app = Celery("chaos", broker=f"signalbox:///?{urlencode(conninfo_to_dict(dsn))}", set_as_current=False)
    app.conf.update(
        task_default_queue=QUEUE,
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        beat_schedule={"tick": {"task": TASK, "schedule": BEAT_SECONDS, "args": [0]}},
    )
    notes = Notes(dsn, QUEUE)

    @app.task(shared=False, name=TASK)
    def note(token: int) -> None:
        notes.end(str(token))

    return app


app = make_app() if DSN in os.environ else None
