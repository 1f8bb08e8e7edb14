"""RedrivePolicy and RedriveAllowPolicy: the dead-letter queue of a queue, and the queues that may choose one."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from console.access.api_keys import Key
from console.api.sqs.accounts import Arn, account_of, read_arn
from console.api.sqs.errors import SqsError, invalid_value
from console.api.sqs.queues.attributes import (
    MOST_RECEIVES,
    REDRIVE_ALLOW_POLICY,
    REDRIVE_POLICY,
    compact,
    needs_fifo_rules,
)
from console.api.sqs.queues.models import SqsQueue
from queues.control import queues as control
from queues.errors import InvalidArgument
from queues.models import Queue

PERMISSIONS = ("allowAll", "denyAll", "byQueue")
MAX_SOURCES = 10
PATIENCE_SECONDS = 5.0
LOOK_SECONDS = 0.02


def settings_of(key: Key, text: str, source: Arn, *, is_fifo: bool) -> dict[str, Any]:
    """Return the engine's settings of a RedrivePolicy; an empty one removes it. Raises `SqsError`."""
    if not text:
        return {"dead_letter_queue": None, "max_receives": MOST_RECEIVES}
    policy = read(REDRIVE_POLICY, text)
    target, receives = policy.get("deadLetterTargetArn"), policy.get("maxReceiveCount")
    if target is None or receives is None:
        missing = "deadLetterTargetArn" if target is None else "maxReceiveCount"
        raise invalid_value(REDRIVE_POLICY, text, f"Redrive policy does not contain mandatory attribute: {missing}.")
    count = _count(text, receives)
    _check_target(key, text, read_arn(target), source, is_fifo)
    return {"dead_letter_queue": read_arn(target).name, "max_receives": count}


def policy_of(queue: Queue, region: str) -> str | None:
    """Return the RedrivePolicy of a queue; None without a chosen dead-letter queue."""
    if queue.dead_letter_queue is None:
        return None
    target = Arn(region, account_of(queue.tenant.name), queue.dead_letter_queue)
    return compact({"deadLetterTargetArn": str(target), "maxReceiveCount": queue.max_receives})


def checked_allow_policy(text: str) -> str:
    """Check a RedriveAllowPolicy and return it as it is kept. Raises `SqsError`."""
    if not text:
        return text
    policy = read(REDRIVE_ALLOW_POLICY, text)
    permission, sources = policy.get("redrivePermission"), policy.get("sourceQueueArns")
    if permission not in PERMISSIONS:
        raise invalid_value(REDRIVE_ALLOW_POLICY, text, f"redrivePermission must be one of {', '.join(PERMISSIONS)}.")
    if (permission == "byQueue") != bool(sources):
        raise invalid_value(REDRIVE_ALLOW_POLICY, text, "sourceQueueArns goes with redrivePermission byQueue.")
    if sources and (not isinstance(sources, list) or len(sources) > MAX_SOURCES or not all(map(read_arn, sources))):
        raise invalid_value(
            REDRIVE_ALLOW_POLICY, text, f"sourceQueueArns must be at most {MAX_SOURCES} ARNs of queues."
        )
    return compact({"redrivePermission": permission, **({"sourceQueueArns": sources} if sources else {})})


def read(name: str, text: str) -> Mapping[str, Any]:
    try:
        policy = json.loads(text)
    except (ValueError, RecursionError):
        policy = None
    if not isinstance(policy, dict):
        raise invalid_value(name, text, f"{name} is not a valid JSON map.")
    return policy


def _count(text: str, given: Any) -> int:
    digits = str(given)
    if isinstance(given, bool) or not (digits.isascii() and digits.isdigit() and 1 <= int(digits[:9]) <= MOST_RECEIVES):
        bounds = f"valid values are from 1 to {MOST_RECEIVES} both inclusive."
        reason = f"Invalid value for maxReceiveCount: {digits[:40]}, {bounds}"
        raise invalid_value(REDRIVE_POLICY, text, reason)
    return int(digits[:9])


def _check_target(key: Key, text: str, target: Arn | None, source: Arn, is_fifo: bool) -> None:
    """Check that the target exists within the key's reach, is of the same type, and allows this source."""
    queue = _found(target) if target else None
    if queue is None or target.account != source.account or not key.reaches(queue.name, queue.tenant.name):
        raise invalid_value(REDRIVE_POLICY, text, "Dead letter target does not exist.")
    if needs_fifo_rules(queue) != is_fifo:
        raise invalid_value(REDRIVE_POLICY, text, "Dead-letter queue must be same type of queue as the source.")
    row = SqsQueue.objects.filter(queue_id=queue.queue_id).first()
    allowed = (row.attributes.get(REDRIVE_ALLOW_POLICY) if row else None) or '{"redrivePermission":"allowAll"}'
    if not _allows(json.loads(allowed), source):
        raise invalid_value(
            REDRIVE_POLICY, text, f"Queue {source} is not allowed to use {target} as a dead letter queue."
        )


def _found(target: Arn) -> Queue | None:
    return Queue.objects.select_related("tenant").filter(name=target.name).first()


def _allows(policy: Mapping[str, Any], source: Arn) -> bool:
    if policy["redrivePermission"] == "byQueue":
        named = [read_arn(one) for one in policy["sourceQueueArns"]]
        return any((one.account, one.name) == (source.account, source.name) for one in named if one)
    return policy["redrivePermission"] == "allowAll"


def equip_target(name: str, *, actor: str) -> None:
    """Make an empty FIFO queue able to keep dead letters, by the mode standard: dead letters have no groups.

    SQS still sees the queue as FIFO, by its name. Raises `SqsError` if the queue holds messages. Call this outside a
    transaction: the engine changes the mode only of a queue whose closing is committed.
    """
    if control.get_queue(name).mode != "fifo":
        return
    control.configure_queue(name, {"closed": True}, actor=actor)
    try:
        _make_standard(name, actor)
    finally:
        control.configure_queue(name, {"closed": False}, actor=actor)


def _make_standard(name: str, actor: str) -> None:
    """Set the mode standard. Wait up to PATIENCE_SECONDS for transactions that may have found the queue open."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            control.configure_queue(name, {"mode": "standard"}, actor=actor)
            return
        except InvalidArgument as error:
            if time.monotonic() > ends_at or "transactions are open" not in str(error):
                raise SqsError("UnsupportedOperation", f"{name} cannot become a dead-letter queue: {error}") from None
            time.sleep(LOOK_SECONDS)
