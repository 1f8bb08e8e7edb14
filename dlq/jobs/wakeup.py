"""Wake-ups: messages that ask a worker to run one slice of a job.

If the broker is the database, the wake-up is sent in the transaction that makes the job, so it exists exactly when the
job does. With another broker it follows the commit. The sweep of a worker replaces a lost wake-up. A second wake-up
has no effect, because another worker runs the job.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

import psycopg
from celery import current_app
from django.conf import settings
from django.db import DatabaseError, transaction
from kombu.exceptions import OperationalError

from queues import messages
from signalbox import SignalboxError
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

# A wake-up that no worker took within this time is stale: the sweep has sent another.
EXPIRES_SECONDS = 60
# The limit is short because a person may be waiting for a page.
CONNECT_SECONDS = 1.0


def wake_up(noun: str, job_id: int) -> None:
    """Ask for one slice of a job, in the current transaction. A failure is logged, and the transaction continues."""
    if settings.BROKER_IS_DATABASE:
        _send(noun, job_id)
    else:
        transaction.on_commit(lambda: _publish(noun, job_id))


def _send(noun: str, job_id: int) -> None:
    expires = datetime.now(UTC) + timedelta(seconds=EXPIRES_SECONDS)
    task = {"task": f"dlq.{noun}", "args": [job_id], "expires": expires.isoformat()}
    try:
        with transaction.atomic():  # a refused send rolls back itself and nothing else
            messages.send(settings.CELERY_TASK_DEFAULT_QUEUE, task, attributes={"task": f"dlq.{noun}"})
    except (SignalboxError, DatabaseError, psycopg.Error) as error:
        _give_up(noun, job_id, error)


def _publish(noun: str, job_id: int) -> None:
    try:
        with current_app.connection_for_write(connect_timeout=CONNECT_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=CONNECT_SECONDS)
            current_app.send_task(f"dlq.{noun}", args=[job_id], expires=EXPIRES_SECONDS, retry=False, connection=broker)
    except (OperationalError, OSError, psycopg.Error, SignalboxError) as error:
        _give_up(noun, job_id, error)


def _give_up(noun: str, job_id: int, error: Exception) -> None:
    log.warning("%s #%s was not announced, a sweep will find it: %s", noun, job_id, in_brief(error))
