"""Purges and deletions of queues by SQS. Both are jobs, and begin at once in the thread of the request."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.api.purges import purging
from console.api.queues import configuring
from console.api.queues.known_queues import KnownQueue
from console.api.sqs.call import Call
from console.api.sqs.errors import SqsError
from console.api.sqs.queues import attributes
from console.api.sqs.queues.configuring import Changes
from console.api.sqs.queues.models import SqsQueue
from dlq.jobs.models import Job, Purge
from dlq.jobs.runner import POLL_SECONDS, Ending
from dlq.trash import purges
from queues.errors import QueueInUse
from queues.models import Queue

PURGE_PAUSE = timedelta(seconds=60)
REASON = "SQS"
FOREGROUND_SECONDS = 5.0
"""Seconds for which the request itself purges. Then a worker goes on."""


def purge(call: Call, known: KnownQueue) -> None:
    """Purge every message into the trash; once a minute for each queue."""
    with transaction.atomic():
        queue = Queue.objects.get(queue_id=known.queue_id)
        SqsQueue.objects.get_or_create(queue_id=queue.queue_id, defaults={"changed_at": queue.created_at})
        row = SqsQueue.objects.select_for_update().get(queue_id=queue.queue_id)
        if row.purged_at is not None and timezone.now() - row.purged_at < PURGE_PAUSE:
            raise SqsError("PurgeQueueInProgress", queue=queue.name)
        row.purged_at = timezone.now()
        row.save(update_fields=["purged_at"])
    _run(purging.purge_all(call.key, queue.name, REASON))


def delete(call: Call, known: KnownQueue) -> None:
    """Delete a queue and its messages. Queues whose dead letters it kept have no RedrivePolicy afterwards."""
    queue = Queue.objects.get(queue_id=known.queue_id)
    _detach(call, queue)
    try:
        configuring.delete(call.key, queue.name)
    except QueueInUse as error:
        if not error.messages:
            raise
        _run(purging.purge_all(call.key, queue.name, REASON, keep_hours=0))
        configuring.delete(call.key, queue.name)
    SqsQueue.objects.filter(queue_id=queue.queue_id).delete()


def _detach(call: Call, queue: Queue) -> None:
    unset: dict[str, Any] = {"dead_letter_queue": None, "max_receives": attributes.MOST_RECEIVES}
    for source in Queue.objects.select_related("tenant").filter(dead_letter_queue=queue.name):
        if call.key.reaches(source.name, source.tenant.name):
            configuring.configure(call.key, source.name, Changes(unset))


def _run(job: Purge) -> None:
    """Run the first part of a purge in this thread, so that a small purge has ended when the answer is sent."""
    if job.is_awaiting:
        raise SqsError("OverLimit", f"The purge of {job.total_estimate} messages waits for an approval: {job}.")
    ends_at = time.monotonic() + FOREGROUND_SECONDS
    while time.monotonic() < ends_at and purges.WORK.run_slice(job.pk, FOREGROUND_SECONDS) is Ending.TAKEN:
        job.refresh_from_db()
        if job.state not in Job.RUNNABLE_STATES:
            return
        time.sleep(POLL_SECONDS)  # a worker runs the job
