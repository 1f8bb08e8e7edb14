"""Creation, settings, lists and deletion of queues for SQS, by the services of /v1. Called through threads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.access.api_keys import Key
from console.api.core.name_pages import cursor_of, name_in
from console.api.core.problems import Problem
from console.api.queues import configuring
from console.api.queues.known_queues import KnownQueue
from console.api.sqs.accounts import Arn, account_of
from console.api.sqs.call import Call
from console.api.sqs.errors import SqsError, invalid_parameter, invalid_value, no_such_queue
from console.api.sqs.queues import attributes, redrive_policies
from console.api.sqs.queues.attributes import FIFO_SUFFIX, REDRIVE_ALLOW_POLICY, REDRIVE_POLICY
from console.api.sqs.queues.models import SqsQueue
from queues.counters.queue_numbers import read_numbers
from queues.errors import QueueNotFound
from queues.models import Queue

MAX_NAME = 80
DEFAULT_SETTINGS = {"max_receives": attributes.MOST_RECEIVES}
"""Without a RedrivePolicy, SQS delivers a message until its retention ends."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


@dataclass(frozen=True)
class Wanted:
    """A new queue as the service of /v1 takes it."""

    name: str
    tenant: str | None
    settings: dict[str, Any] = field(default_factory=dict)


def create(call: Call, name: str, given: Mapping[str, str], tags: Mapping[str, str]) -> str:
    """Create a queue and return its URL; an existing queue with equal attributes is the same queue."""
    is_fifo = _checked_kind(name, given)
    _check_tags(tags)
    wanted = attributes.checked(given, is_fifo=is_fifo, at_creation=True)
    source = Arn(call.region, account_of(call.key.tenant), name)
    _equip_target(call, source, given, is_fifo)
    with transaction.atomic():
        there = Queue.objects.select_related("tenant").filter(name=name).first()
        if there is not None and call.key.reaches(name, there.tenant.name):
            _check_equal(call, there, wanted | _policies(given))
            return call.url_of(name, there.tenant.name)
        settings = _settings(call, source, given, wanted, is_fifo)
        mode = {"mode": "fifo"} if is_fifo else {}
        configuring.create(call.key, Wanted(name, None, {**DEFAULT_SETTINGS, **settings, **mode}))
        queue = Queue.objects.select_related("tenant").get(name=name)
        SqsQueue.objects.update_or_create(
            queue_id=queue.queue_id, defaults={"attributes": _kept(given, wanted), "tags": dict(tags)}
        )
        return call.url_of(name, queue.tenant.name)


def configure(call: Call, known: KnownQueue, given: Mapping[str, str]) -> None:
    """Change the attributes that are named."""
    queue = _queue(known)
    is_fifo = attributes.needs_fifo_rules(queue)
    wanted = attributes.checked(given, is_fifo=is_fifo, at_creation=False)
    source = Arn(call.region, account_of(known.tenant), queue.name)
    _equip_target(call, source, given, is_fifo)
    with transaction.atomic():
        settings = _settings(call, source, given, wanted, is_fifo)
        if settings:
            configuring.configure(call.key, queue.name, Changes(settings))
        row = _row(queue)
        row.attributes = {**row.attributes, **_kept(given, wanted)}
        row.changed_at = timezone.now()
        row.save()


@dataclass(frozen=True)
class Changes:
    """Changed settings as the service of /v1 takes them."""

    settings: dict[str, Any]


def attributes_of(call: Call, known: KnownQueue, names: list[str]) -> dict[str, str]:
    """Return the values of the named attributes; `All` is every one."""
    unknown = next((name for name in names if name != "All" and name not in attributes.KNOWN), None)
    if unknown is not None:
        raise SqsError("InvalidAttributeName", name=unknown[:100])
    queue, kept = _queue(known), _kept_row(known.queue_id)
    values = attributes.values_of(queue, kept.attributes) | _facts(call, queue, kept)
    if "All" in names or any(name in attributes.COUNTED for name in names):
        values |= _counts(known.queue_id)
    return {name: values[name] for name in attributes.KNOWN if name in values and ("All" in names or name in names)}


def page(key: Key, call: Call, prefix: str, limit: int | None, token: str | None) -> tuple[list[str], str | None]:
    """Return URLs of the queues that the key reaches, by name, and the token of the next page."""
    queues = configuring.reached(key).filter(name__startswith=prefix)
    if token is not None:
        queues = queues.filter(name__gt=_name_in(token))
    size = limit or MOST_LISTED
    found = list(queues[: size + 1])
    after = cursor_of(found[size - 1].name) if len(found) > size and limit is not None else None
    return [call.url_of(queue.name, queue.tenant.name) for queue in found[:size]], after


MOST_LISTED = 1_000


def sources(
    key: Key, call: Call, known: KnownQueue, limit: int | None, token: str | None
) -> tuple[list[str], str | None]:
    """Return URLs of the queues whose RedrivePolicy names this queue, and the token of the next page."""
    found = Queue.objects.select_related("tenant").filter(dead_letter_queue=known.name).order_by("name")
    if token is not None:
        found = found.filter(name__gt=_name_in(token))
    size = limit or MOST_LISTED
    reached = [queue for queue in found[: MOST_LISTED + 1] if key.reaches(queue.name, queue.tenant.name)]
    after = cursor_of(reached[size - 1].name) if len(reached) > size and limit is not None else None
    return [call.url_of(queue.name, queue.tenant.name) for queue in reached[:size]], after


def tags_of(known: KnownQueue) -> dict[str, str]:
    """Return the tags of a queue."""
    return dict(_kept_row(known.queue_id).tags)


def tag(known: KnownQueue, added: Mapping[str, str], removed: list[str]) -> None:
    """Add and remove tags."""
    _check_tags(added)
    with transaction.atomic():
        row = _row(_queue(known))
        left = {name: value for name, value in row.tags.items() if name not in removed}
        row.tags = left | dict(added)
        if len(row.tags) > MAX_TAGS:
            raise invalid_parameter(f"Too many tags added for queue {known.name}.")
        row.save(update_fields=["tags"])


MAX_TAGS = 50
_TAG_KEY, _TAG_VALUE = re.compile(r"[^\x00-\x1f\ud800-\udfff]{1,128}"), re.compile(r"[^\x00-\x1f\ud800-\udfff]{0,256}")


def _check_tags(tags: Mapping[str, str]) -> None:
    for key, value in tags.items():
        if not _TAG_KEY.fullmatch(key) or key.lower().startswith("aws:"):
            raise invalid_value("Tag.Key", key, "Tag keys must be between 1 and 128 characters in length.")
        if not _TAG_VALUE.fullmatch(value):
            raise invalid_value("Tag.Value", value, "Tag values must be between 0 and 256 characters in length.")


def _checked_kind(name: str, given: Mapping[str, str]) -> bool:
    """Check the name of a queue, and return whether it is FIFO."""
    is_fifo = given.get("FifoQueue", "").lower() == "true"
    plain = name.removesuffix(FIFO_SUFFIX) if is_fifo else name
    if is_fifo and not (name.endswith(FIFO_SUFFIX) and _NAME.fullmatch(plain) and len(name) <= MAX_NAME):
        raise invalid_parameter(
            "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with "
            ".fifo suffix and be 1 to 80 in length."
        )
    if not is_fifo and not _NAME.fullmatch(name):
        raise invalid_parameter("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
    if not is_fifo and "FifoQueue" in given:
        raise SqsError("InvalidAttributeName", name="FifoQueue")
    return is_fifo


def _check_equal(call: Call, queue: Queue, wanted: Mapping[str, str]) -> None:
    """Check that an existing queue has the attributes that a creation names."""
    kept = _kept_row(queue.queue_id)
    now = attributes.values_of(queue, kept.attributes) | _facts(call, queue, kept)
    for name, value in wanted.items():
        if now.get(name, "") != value:
            text = f"A queue already exists with the same name and a different value for attribute {name}"
            raise SqsError("QueueNameExists", text)


def _policies(given: Mapping[str, str]) -> dict[str, str]:
    """Return the redrive policies that are given, in the form in which SQS shows them."""
    found = {}
    for name in (REDRIVE_POLICY, REDRIVE_ALLOW_POLICY):
        if given.get(name):
            policy = redrive_policies.read(name, given[name])
            if name == REDRIVE_POLICY and str(policy.get("maxReceiveCount", "")).isdigit():
                policy = {**policy, "maxReceiveCount": int(policy["maxReceiveCount"])}
            found[name] = attributes.compact(policy)
    return found


def _settings(
    call: Call, source: Arn, given: Mapping[str, str], wanted: Mapping[str, str], is_fifo: bool
) -> dict[str, Any]:
    settings = attributes.settings_of(wanted)
    if REDRIVE_POLICY in given:
        settings |= redrive_policies.settings_of(call.key, given[REDRIVE_POLICY], source, is_fifo=is_fifo)
    return settings


def _equip_target(call: Call, source: Arn, given: Mapping[str, str], is_fifo: bool) -> None:
    """Make the dead-letter queue of a RedrivePolicy ready, in transactions of its own."""
    if is_fifo and given.get(REDRIVE_POLICY):
        policy = redrive_policies.settings_of(call.key, given[REDRIVE_POLICY], source, is_fifo=is_fifo)
        redrive_policies.equip_target(policy["dead_letter_queue"], actor=call.key.actor)


def _kept(given: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    kept = attributes.kept_of(wanted)
    if REDRIVE_ALLOW_POLICY in given:
        kept[REDRIVE_ALLOW_POLICY] = redrive_policies.checked_allow_policy(given[REDRIVE_ALLOW_POLICY])
    return kept


def _facts(call: Call, queue: Queue, kept: SqsQueue) -> dict[str, str]:
    """Return the attributes that are no setting: the ARN, the times and the redrive policies."""
    changed_at = kept.changed_at or queue.created_at
    found = {
        "QueueArn": call.arn_of(queue.name, queue.tenant.name),
        "CreatedTimestamp": str(int(queue.created_at.timestamp())),
        "LastModifiedTimestamp": str(int(changed_at.timestamp())),
        REDRIVE_POLICY: redrive_policies.policy_of(queue, call.region) or "",
        REDRIVE_ALLOW_POLICY: kept.attributes.get(REDRIVE_ALLOW_POLICY, ""),
    }
    return {name: value for name, value in found.items() if value}


def _counts(queue_id: int) -> dict[str, str]:
    numbers = read_numbers([queue_id])
    if not numbers:
        raise no_such_queue()
    return {name: str(max(0, count(numbers[0]))) for name, count in attributes.COUNTED.items()}


def _queue(known: KnownQueue) -> Queue:
    queue = Queue.objects.select_related("tenant").filter(queue_id=known.queue_id).first()
    if queue is None:
        raise QueueNotFound(f"queue {known.name!r} does not exist")
    return queue


def _kept_row(queue_id: int) -> SqsQueue:
    return SqsQueue.objects.filter(queue_id=queue_id).first() or SqsQueue(queue_id=queue_id, changed_at=None)


def _row(queue: Queue) -> SqsQueue:
    """Return the locked row of a queue; create the row if the queue has none."""
    SqsQueue.objects.get_or_create(queue_id=queue.queue_id, defaults={"changed_at": queue.created_at})
    return SqsQueue.objects.select_for_update().get(queue_id=queue.queue_id)


def _name_in(token: str) -> str:
    try:
        return name_in(token)
    except Problem as error:
        raise invalid_parameter("Invalid or expired next token.") from error
