"""Telling a worker that there is something to run. A kick is a hint: lost or doubled, nothing goes wrong.

Lost ones are made good by the sweep that every worker runs now and then; doubled ones find the job taken.
"""

from __future__ import annotations

import logging

from celery import current_app
from kombu.exceptions import OperationalError

from signalbox.logs import in_brief

log = logging.getLogger(__name__)

# A kick that nobody took by then is stale: the sweep has sent another.
EXPIRES_SECONDS = 60
# Somebody may be waiting for a page.
CONNECT_SECONDS = 1.0


def kick(noun: str, job_id: int) -> None:
    """Ask for one slice of a job; a broker out of reach is no reason to fail, since the sweep comes round."""
    try:
        with current_app.connection_for_write(connect_timeout=CONNECT_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=CONNECT_SECONDS)
            current_app.send_task(f"dlq.{noun}", args=[job_id], expires=EXPIRES_SECONDS, retry=False, connection=broker)
    except (OperationalError, OSError) as error:
        log.warning("%s #%s was not announced, a sweep will find it: %s", noun, job_id, in_brief(error))
