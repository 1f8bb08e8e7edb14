"""Conversion of kombu's messages into payloads and back. A person can read, search and correct these payloads.

A JSON body is stored as JSON, not as base64 of JSON text, wherever PostgreSQL returns it unchanged. A payload of
another sender, such as {"task": ..., "args": [...]} sent by SQL, becomes the body of a message and runs.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from signalbox.errors import InvalidArgument, MessageUnreadable
from signalbox.messages import Message
from signalbox.payloads.binary import json_value
from signalbox.payloads.encoding import encode

#: The encodings of a stored body, by its property body_encoding.
AS_JSON = "json"
AS_TEXT = None
AS_BASE64 = "base64"

#: The longest delay of the engine: a year. The worker holds a task that is due later for the remaining time.
MAX_DELAY_SECONDS = 31_536_000.0


def packed(body: str | bytes, content_type: str | None, *, readable: bool) -> tuple[Any, str | None]:
    """Pack a body for the database; returns it with its encoding."""
    if isinstance(body, bytes):
        return base64.b64encode(body).decode(), AS_BASE64
    if not readable or content_type != "application/json":
        return _storable(body)
    try:
        value = json.loads(body, parse_float=_float, parse_constant=_refuse)
        if not isinstance(value, dict | list) or not value:
            return _storable(body)
        encode(value)
    except (ValueError, RecursionError, InvalidArgument):
        return _storable(body)
    return value, AS_JSON


def unpacked(body: Any, encoding: str | None) -> str | bytes:
    """Unpack a body as it was published.

    A text is never stored as JSON: one with this encoding comes from a repeated publish, which stores plain text.
    """
    if encoding == AS_JSON and not isinstance(body, str):
        return json.dumps(body)
    if encoding == AS_BASE64:
        return base64.b64decode(body)
    return body if isinstance(body, str | bytes) else json.dumps(body)


def _storable(body: str) -> tuple[str, str | None]:
    try:
        encode(body)
    except InvalidArgument:
        return base64.b64encode(body.encode(errors="surrogatepass")).decode(), AS_BASE64
    return body, AS_TEXT


def _float(text: str) -> float:
    """Read a number that PostgreSQL returns as written; ValueError for 1e+22, which it returns as a whole number."""
    if ("e" in text or "E" in text) and "e-" not in text.lower():
        raise ValueError(text)
    if (value := float(text)) == 0 and text.startswith("-"):
        raise ValueError(text)
    return value


def _refuse(text: str) -> None:
    raise ValueError(text)


def attributes_of(headers: Mapping[str, Any]) -> dict[str, Any] | None:
    """Attributes by which a task can be found; None for a message that is no task."""
    if not headers.get("task"):
        return None
    facts = {
        "task": headers["task"],
        "task_id": headers.get("id"),
        "retries": headers.get("retries") or None,
        "correlation_id": headers.get("root_id") or headers.get("id"),
        "traceparent": headers.get("traceparent"),
        "tracestate": headers.get("tracestate"),
    }
    return {name: value for name, value in facts.items() if value is not None}


def delay_of(headers: Mapping[str, Any]) -> float | None:
    """Seconds until the task is due; None for a task that is due now."""
    eta = headers.get("eta")
    if not eta:
        return None
    try:
        due = datetime.fromisoformat(eta) if isinstance(eta, str) else eta
        if due.tzinfo is None:
            due = due.replace(tzinfo=UTC)
        seconds = (due - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, AttributeError):
        return None  # the worker reports the wrong time
    return min(seconds, MAX_DELAY_SECONDS) if seconds > 0 else None


def opened(message: Message) -> dict[str, Any]:
    """Write a delivery as kombu's channels expect it; its tag is the receipt handle, which is unique.

    Raises MessageUnreadable.
    """
    if message.unreadable is not None:
        raise MessageUnreadable(str(message.unreadable))
    payload: Any = message.payload
    if not is_envelope(payload):
        payload = _enclosed(json_value(payload), message.id)
    properties = payload["properties"]
    delivery = properties.get("delivery_info")
    properties["delivery_info"] = {
        **(delivery if isinstance(delivery, dict) else {}),
        "redelivered": message.receive_count > 1,
        "message_id": message.id,
        "receive_count": message.receive_count,
    }
    properties["priority"] = message.priority
    properties["delivery_tag"] = message.receipt_handle
    return dict(payload)


def priority_of(payload: Mapping[str, Any]) -> int:
    """Read the priority of a published message."""
    priority = payload["properties"].get("priority")
    return priority if isinstance(priority, int) else 0


def lifetime_of(payload: Any) -> float | None:
    """Seconds for which a message may be delivered after it was published; None: as long as its queue keeps it."""
    expiration = payload["properties"].get("expiration") if is_envelope(payload) else None
    return int(expiration[:15]) / 1000 if isinstance(expiration, str) and expiration.isdecimal() else None


def end_of(payload: Mapping[str, Any], now: datetime) -> datetime | None:
    """Return when a message published now expires; None without a limit, or with one that the engine refuses."""
    seconds = lifetime_of(payload)
    return now + timedelta(seconds=seconds) if seconds and seconds <= MAX_DELAY_SECONDS else None


def is_expired(message: Message) -> bool:
    """Return whether a message has expired; False for a task with `expires`, which the worker itself revokes."""
    seconds = lifetime_of(message.payload)
    if seconds is None or (message.payload.get("headers") or {}).get("expires"):
        return False
    return message.sent_at.timestamp() + seconds <= time.time()


def described(payload: Any, message_id: int) -> dict[str, Any]:
    """Describe a task that is not delivered yet: id, name, args, kwargs and eta."""
    if not is_envelope(payload):
        task = payload if isinstance(payload, dict) else {}
        values = {"args": task.get("args", []), "kwargs": task.get("kwargs", {})}
        return {"id": f"signalbox-{message_id}", "name": task.get("task"), **values, "eta": task.get("eta")}
    headers = payload.get("headers") or {}
    body = payload["body"]
    if isinstance(body, list) and len(body) > 1:
        args, kwargs = body[:2]
    else:
        args, kwargs = headers.get("argsrepr"), headers.get("kwargsrepr")
    return {
        "id": headers.get("id"),
        "name": headers.get("task"),
        "args": args,
        "kwargs": kwargs,
        "eta": headers.get("eta"),
    }


def is_envelope(payload: object) -> bool:
    """Return whether the payload was published through kombu."""
    return (
        isinstance(payload, dict)
        and "body" in payload
        and isinstance(payload.get("properties"), dict)
        and isinstance(payload.get("headers") or {}, dict)
    )


def _enclosed(payload: Any, message_id: int) -> dict[str, Any]:
    """Enclose a payload of another sender. A task without an id gets one that all its deliveries share."""
    if isinstance(payload, dict) and isinstance(payload.get("task"), str):
        payload = {"id": f"signalbox-{message_id}", "args": [], "kwargs": {}, **payload}
    return {
        "body": json.dumps(payload),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {},
        "properties": {"body_encoding": AS_TEXT, "correlation_id": f"signalbox-{message_id}"},
    }
