"""Runs that people start and stop in the console: recorded in the audit, and requested from a worker.

A row says what to run, who asked and why. The message that a worker gets has only the id of that row, so a forged
message cannot start a run that no person requested.
"""

from __future__ import annotations

import logging
from typing import Any

import psycopg
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from pipeline import requests
from pipeline.models import Run
from queues import audit
from signalbox import SignalboxError
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

CONNECT_SECONDS = 1.0  # somebody waits for a page


def start(kind: str, *, actor: str, reason: str = "", **given: Any) -> bool:
    """Ask a worker for a run; it does nothing when one is under way. False when no worker can be asked.

    Where the broker is our database it may be there and refuse: before it was migrated, or while the queue is closed.
    """
    with transaction.atomic():
        request = requests.make(kind, given, actor=actor)
        audit.record(actor, f"pipeline.{kind}", reason=reason, details={"request_id": request.pk, **given})
    try:
        with current_app.connection_for_write(connect_timeout=CONNECT_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=CONNECT_SECONDS)
            current_app.send_task(
                "pipeline.run",
                args=[request.pk],
                expires=requests.EXPIRES_SECONDS,
                retry=False,
                connection=broker,
            )
    except (OperationalError, OSError, psycopg.Error, SignalboxError) as error:
        requests.refuse(request.pk)
        log.warning("the pipeline's %s was not announced: %s", kind, in_brief(error))
        return False
    return True


def cancel(run_id: int, *, actor: str, reason: str = "") -> bool:
    """Ask a run to stop: what is under way is interrupted, and nothing of it counts. False when it is over."""
    with transaction.atomic():
        running = Run.objects.filter(pk=run_id, state=Run.State.RUNNING, cancel_requested=False)
        if not running.update(cancel_requested=True):
            return False
        audit.record(actor, "pipeline.cancel", reason=reason, details={"run_id": run_id})
        return True
