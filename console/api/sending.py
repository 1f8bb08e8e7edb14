"""From a message as it is sent over the wire to the words of the engine."""

from __future__ import annotations

from typing import Any

from console.api.problems import Problem
from console.api.wire.messages import PRIORITIES, NewMessage
from signalbox.statements import SendOptions


def options(message: NewMessage) -> SendOptions:
    """What is said of the message besides its payload."""
    attributes, priority = _priority(message.attributes)
    return {
        "attributes": attributes,
        "priority": priority,
        "delay_seconds": message.delay_seconds,
        "group_id": message.message_group_id,
        "deduplication_id": message.deduplication_key,
        "trace_id": message.trace_id,
        "correlation_id": message.correlation_id,
    }


def _priority(attributes: dict[str, Any] | None) -> tuple[dict[str, Any] | None, int]:
    """The attributes without the priority, which the engine keeps by itself, and the priority as a number."""
    if not attributes or "priority" not in attributes:
        return attributes, 0
    rest = {name: value for name, value in attributes.items() if name != "priority"}
    return rest or None, _number(attributes["priority"])


def _number(priority: object) -> int:
    if isinstance(priority, str) and priority in PRIORITIES:
        return PRIORITIES[priority]
    if isinstance(priority, int) and not isinstance(priority, bool) and 0 <= priority <= 9:
        return priority
    words = ", ".join(PRIORITIES)
    raise Problem.of_field("attributes.priority", f"attributes.priority must be {words}, or a number from 0 to 9")
