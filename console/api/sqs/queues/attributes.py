"""The attributes of queues: what may be set, which setting of the engine each is, and their values now."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from console.api.sqs.errors import SqsError, invalid_value
from queues.models import Queue

FIFO_SUFFIX = ".fifo"
MAX_MESSAGE_BYTES = 1_048_576
LOG_BYTES = 262_144
"""Bytes of the largest payload that the engine's log holds. A larger payload is kept in the body store."""
MOST_RECEIVES = 1_000

_WHOLE = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Attribute:
    """An attribute that can be set. `read` checks a text and returns the value to store, or raises ValueError.

    `setting` is the engine's setting that stores the value. If it is None, the row of `SqsQueue` stores the value.
    """

    read: Callable[[str], str]
    default: str
    setting: str | None = None
    only_fifo: bool = False
    only_at_creation: bool = False


def _number(low: int, high: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not _WHOLE.fullmatch(text) or not low <= int(text) <= high:
            raise ValueError
        return str(int(text))

    return read


def _choice(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError
        return text

    return read


def _flag(text: str) -> str:
    return _choice("true", "false")(text.lower())


def _only_empty(text: str) -> str:
    """Refuse every value except an empty text: Signalbox does not have this feature."""
    if text:
        raise SqsError("UnsupportedOperation", _REFUSED)
    return text


_REFUSED = (
    "Signalbox has no policies and no KMS keys: scopes, tenant and prefix of an API key say what it may do, and the "
    "database's storage is encrypted by its operator."
)

ATTRIBUTES: dict[str, Attribute] = {
    "VisibilityTimeout": Attribute(_number(0, 43_200), "30", "visibility_timeout_seconds"),
    "DelaySeconds": Attribute(_number(0, 900), "0", "delay_seconds"),
    "MessageRetentionPeriod": Attribute(_number(60, 1_209_600), "345600", "retention_seconds"),
    "MaximumMessageSize": Attribute(_number(1_024, MAX_MESSAGE_BYTES), str(MAX_MESSAGE_BYTES), "max_payload_bytes"),
    "ReceiveMessageWaitTimeSeconds": Attribute(_number(0, 20), "0", "receive_wait_seconds"),
    "SqsManagedSseEnabled": Attribute(_flag, "true"),
    "KmsMasterKeyId": Attribute(_only_empty, ""),
    "KmsDataKeyReusePeriodSeconds": Attribute(_number(60, 86_400), ""),
    "Policy": Attribute(_only_empty, ""),
    "FifoQueue": Attribute(_flag, "", only_fifo=True, only_at_creation=True),
    "ContentBasedDeduplication": Attribute(_flag, "false", only_fifo=True),
    "DeduplicationScope": Attribute(_choice("queue", "messageGroup"), "queue", only_fifo=True),
    "FifoThroughputLimit": Attribute(_choice("perQueue", "perMessageGroupId"), "perQueue", only_fifo=True),
}
"""Attributes with a plain value. The two redrive policies are in `redrive_policies`."""

QUEUE_TYPE_IS_FIXED = "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."
REDRIVE_POLICY, REDRIVE_ALLOW_POLICY = "RedrivePolicy", "RedriveAllowPolicy"
COUNTED = {
    "ApproximateNumberOfMessages": lambda numbers: numbers.ready + numbers.waiting + _held(numbers),
    "ApproximateNumberOfMessagesNotVisible": lambda numbers: numbers.leased,
    "ApproximateNumberOfMessagesDelayed": lambda numbers: numbers.scheduled,
}
READ_ONLY = ("QueueArn", "CreatedTimestamp", "LastModifiedTimestamp", *COUNTED)
KNOWN = (*ATTRIBUTES, REDRIVE_POLICY, REDRIVE_ALLOW_POLICY, *READ_ONLY)


def _held(numbers: Any) -> int:
    return numbers.dead if numbers.is_dead_letter_queue else 0


def needs_fifo_rules(queue: Queue) -> bool:
    """Return whether SQS sees the queue as FIFO. A dead-letter queue of FIFO queues is FIFO only by its name."""
    return queue.mode == "fifo" or queue.name.endswith(FIFO_SUFFIX)


def limit_of(queue: Queue) -> int:
    """Return the bytes of the largest message. A queue whose limit is LOG_BYTES also accepts large bodies."""
    if queue.max_payload_bytes < LOG_BYTES:
        return queue.max_payload_bytes
    return min(queue.max_large_body_bytes or MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES, settings.BODIES_MAX_BYTES)


def _sizes_of(limit: int) -> dict[str, int]:
    """Return the engine's settings for this message limit. MAX_MESSAGE_BYTES needs none: the endpoint checks it."""
    bodies = limit if LOG_BYTES <= limit < MAX_MESSAGE_BYTES else 0
    return {"max_payload_bytes": min(limit, LOG_BYTES), "max_large_body_bytes": bodies}


def checked(given: Mapping[str, str], *, is_fifo: bool, at_creation: bool) -> dict[str, str]:
    """Check attributes with plain values; return the values to store. Raises `SqsError`, which names the attribute."""
    found = {}
    for name, text in given.items():
        if name in (REDRIVE_POLICY, REDRIVE_ALLOW_POLICY):
            continue
        attribute = ATTRIBUTES.get(name)
        if attribute is None or (attribute.only_fifo and not is_fifo):
            raise _unknown(name)
        found[name] = _checked(attribute, name, text)
        if attribute.only_at_creation and not at_creation and found[name] != "true":
            raise SqsError("InvalidAttributeValue", QUEUE_TYPE_IS_FIXED)
    _check_throughput(found)
    return found


def _unknown(name: str) -> SqsError:
    if name in ("DeduplicationScope", "FifoThroughputLimit"):
        return SqsError("InvalidAttributeName", f"You can specify the {name} only when FifoQueue is set to true.")
    return SqsError("InvalidAttributeName", name=name[:100])


def _checked(attribute: Attribute, name: str, text: str) -> str:
    if not text and attribute.default == "":
        return text
    try:
        return attribute.read(text)
    except ValueError:
        raise SqsError("InvalidAttributeValue", name=name) from None


def _check_throughput(given: Mapping[str, str]) -> None:
    if given.get("FifoThroughputLimit") == "perMessageGroupId" and given.get("DeduplicationScope") == "queue":
        reason = "FifoThroughputLimit is perMessageGroupId, so DeduplicationScope must be messageGroup."
        raise invalid_value("DeduplicationScope", "queue", reason)


def settings_of(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the engine's settings for these attributes. A visibility timeout of 0 becomes the engine's least, 0.1."""
    found: dict[str, Any] = {
        setting: int(value) for name, value in given.items() if (setting := ATTRIBUTES[name].setting)
    }
    if "max_payload_bytes" in found:
        found |= _sizes_of(found["max_payload_bytes"])
    if found.get("visibility_timeout_seconds") == 0:
        found["visibility_timeout_seconds"] = 0.1
    return found


def kept_of(given: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes that the row of `SqsQueue` stores."""
    return {name: value for name, value in given.items() if ATTRIBUTES[name].setting is None and name != "FifoQueue"}


def values_of(queue: Queue, kept: Mapping[str, str]) -> dict[str, str]:
    """Return the present values of the attributes with plain values, without empty ones."""
    is_fifo = needs_fifo_rules(queue)
    values = {
        name: str(int(getattr(queue, attribute.setting))) if attribute.setting else kept.get(name, attribute.default)
        for name, attribute in ATTRIBUTES.items()
        if is_fifo or not attribute.only_fifo
    }
    values["MaximumMessageSize"] = str(limit_of(queue))
    if is_fifo:
        values["FifoQueue"] = "true"
    return {name: value for name, value in values.items() if value}


def compact(document: Any) -> str:
    """Return a document as JSON without blanks, as SQS writes policies."""
    return json.dumps(document, separators=(",", ":"))
