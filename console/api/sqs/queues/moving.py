"""Message move tasks: redrives of a dead-letter queue, as the console and /v1 start them."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from console.api.core.database import in_thread
from console.api.core.problems import Problem
from console.api.queues.known_queues import KnownQueue, known_queue
from console.api.redrives import reach, redriving
from console.api.redrives.shapes import NewRedrive
from console.api.sqs.accounts import account_of, read_arn
from console.api.sqs.call import Call
from console.api.sqs.errors import SqsError, invalid_parameter, invalid_value
from dlq.jobs.models import Job, Redrive
from dlq.redrives import redrives
from dlq.search.reach import JobReach
from queues.models import Queue

REASON = "SQS"
MAX_LISTED = 10
MAX_RATE = 500
LOOKED_THROUGH = 1_000
FOREGROUND_SECONDS = 1.0
"""Seconds for which the request itself moves messages, so that a small move ends at once. Then a worker goes on."""

STATUS = {
    Job.State.DONE: "COMPLETED",
    Job.State.CANCELLED: "CANCELLED",
    Job.State.FAILED: "FAILED",
    Job.State.REFUSED: "FAILED",
    Job.State.EXPIRED: "FAILED",
}
"""Status of a task by the state of its job; every other state is RUNNING."""

_TASK = re.compile(rf"{redriving.NAME}([0-9]{{1,18}})")


async def start_message_move_task(call: Call) -> dict[str, Any]:
    """Redrive a dead-letter queue, to the queues in which its messages died or to another queue."""
    given = call.given
    source, destination = await _source(call), given.get("DestinationArn")
    target = (await _queue_of(call, destination, "DestinationArn")).name if destination is not None else None
    rate = given.get("MaxNumberOfMessagesPerSecond")
    if rate is not None and not 1 <= rate <= MAX_RATE:
        raise invalid_value(
            "MaxNumberOfMessagesPerSecond", rate, f"MaxNumberOfMessagesPerSecond must be between 1 and {MAX_RATE}."
        )
    wanted = NewRedrive(targetQueue=target, maxMessagesPerSecond=rate, canary=0, reason=REASON)
    return {"TaskHandle": await in_thread(_start, call, source, wanted)}


async def list_message_move_tasks(call: Call) -> dict[str, Any]:
    """List the redrives of a dead-letter queue, newest first."""
    limit = call.given.get("MaxResults", 1)
    if not 1 <= limit <= MAX_LISTED:
        raise invalid_value("MaxResults", limit, f"MaxResults must be between 1 and {MAX_LISTED}.")
    return {"Results": await in_thread(_tasks, call, await _source(call), limit)}


async def cancel_message_move_task(call: Call) -> dict[str, Any]:
    """Cancel a redrive. Messages that were moved stay moved."""
    handle = _read_handle(call.given["TaskHandle"])
    await _queue_of(call, handle.source, "SourceArn")
    return {"ApproximateNumberOfMessagesMoved": await in_thread(_cancel, call, handle)}


@dataclass(frozen=True)
class Handle:
    """The redrive and the dead-letter queue that a task handle names."""

    redrive_id: int
    source: str

    def __str__(self) -> str:
        document = {"taskId": f"{redriving.NAME}{self.redrive_id}", "sourceArn": self.source}
        return base64.b64encode(json.dumps(document, separators=(",", ":")).encode()).decode()


NO_REDRIVE = 0
"""The number in a task handle that no redrive has, such as one of another endpoint."""


def _read_handle(text: str) -> Handle:
    try:
        document = json.loads(base64.b64decode(text, validate=True))
        found = _TASK.fullmatch(document["taskId"])
        return Handle(int(found[1]) if found else NO_REDRIVE, str(document["sourceArn"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise invalid_parameter("Value for parameter TaskHandle is invalid.") from None


async def _source(call: Call) -> KnownQueue:
    return await _queue_of(call, call.given["SourceArn"], "SourceArn")


async def _queue_of(call: Call, text: str, name: str) -> KnownQueue:
    arn = read_arn(text)
    if arn is None:
        raise invalid_parameter(f"You must use this format to specify the {name}: arn:aws:sqs:REGION:ACCOUNT:QUEUE")
    known = await known_queue(arn.name)
    if known is None or arn.account != account_of(known.tenant) or not known.is_reached_by(call.key):
        text = f"The resource that you specified for the {name} parameter doesn't exist."
        raise SqsError("ResourceNotFoundException", text)
    return known


def _start(call: Call, source: KnownQueue, wanted: NewRedrive) -> str:
    if not Queue.objects.filter(queue_id=source.queue_id, is_dead_letter_queue=True).exists():
        raise invalid_parameter("Source queue must be configured as a Dead Letter Queue.")
    if any(STATUS.get(job.state) is None for job in _jobs(call, source.name)):
        raise invalid_parameter(
            "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
        )
    name = redriving.start(call.key, source.name, wanted)["redriveId"]
    handle = Handle(int(name.removeprefix(redriving.NAME)), call.arn_of(source.name, source.tenant))
    if wanted.max_messages_per_second is None:
        redrives.WORK.run_slice(handle.redrive_id, FOREGROUND_SECONDS)
    return str(handle)


def _jobs(call: Call, source: str) -> list[Redrive]:
    """Return the latest redrives of a dead-letter queue that the key reaches."""
    within = JobReach(call.key.reach)
    latest = Redrive.objects.order_by("-redrive_id")[:LOOKED_THROUGH]
    return [job for job in latest if source in reach.filtered_queues(job) and within.sees(job)]


def _tasks(call: Call, source: KnownQueue, limit: int) -> list[dict[str, Any]]:
    return [_task(call, source, job) for job in _jobs(call, source.name)[:limit]]


def _task(call: Call, source: KnownQueue, job: Redrive) -> dict[str, Any]:
    arn = call.arn_of(source.name, source.tenant)
    status = STATUS.get(job.state, "RUNNING")
    document = {
        "TaskHandle": str(Handle(job.pk, arn)) if status == "RUNNING" else None,
        "Status": status,
        "SourceArn": arn,
        "DestinationArn": call.arn_of(job.target_queue, source.tenant) if job.target_queue else None,
        "MaxNumberOfMessagesPerSecond": job.rate_per_second,
        "ApproximateNumberOfMessagesMoved": job.moved,
        "ApproximateNumberOfMessagesToMove": job.total_estimate,
        "FailureReason": (job.error or job.stopped_because or "The job was not approved.")
        if status == "FAILED"
        else None,
        "StartedTimestamp": int((job.started_at or job.created_at).timestamp() * 1000),
    }
    return {name: value for name, value in document.items() if value is not None}


def _cancel(call: Call, handle: Handle) -> int:
    try:
        job = redriving.find(call.key, handle.redrive_id)
        if STATUS.get(job.state) is None:
            redriving.change(call.key, handle.redrive_id, "cancel")
            return Redrive.objects.get(pk=handle.redrive_id).moved
    except Problem:
        pass
    raise SqsError("ResourceNotFoundException", "Task does not exist.")
