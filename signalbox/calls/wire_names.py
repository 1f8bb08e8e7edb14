"""The names of settings and arguments in Python, and their names in HTTP documents."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SETTINGS = {
    "visibility_timeout_seconds": "defaultVisibilityTimeoutSeconds",
    "max_receives": "maxReceiveCount",
}
_SETTINGS_BACK = {wire: name for name, wire in _SETTINGS.items()}

#: The Python argument of each field of an HTTP document, by the kind of call. Other fields are the same words in camel
#: case.
NONE: Mapping[str, str] = {}
SEND = {
    "body": "payload",
    "messageGroupId": "group_id",
    "deduplicationKey": "deduplication_id",
    "maxReceiveCount": "max_receives",
    "attributes.priority": "priority",
}
BATCH = {
    "messages": "payloads",
    "body": "payloads",
    "messageGroupId": "group_ids",
    "deduplicationKey": "deduplication_ids",
    "traceId": "trace_ids",
    "correlationId": "correlation_ids",
    "contentType": "content_types",
    "expiresAt": "expires_ats",
    "maxReceiveCount": "max_receives",
    "attributes.priority": "priorities",
}
APPEND_BATCH = {
    "messages": "payloads",
    "body": "payloads",
    "key": "keys",
    "deduplicationKey": "deduplication_ids",
    "traceId": "trace_ids",
    "contentType": "content_types",
}
COMMIT = {"position": "through_position"}
RECEIVE = {"visibilityTimeoutSeconds": "visibility_timeout"}
VISIBILITY = {"visibilityTimeoutSeconds": "seconds"}
SETTINGS: Mapping[str, str] = _SETTINGS_BACK

_IN_BATCH = re.compile(r"messages\[(\d+)\]\.?(.*)")


def camel(name: str) -> str:
    """Write a name in camel case, as in HTTP documents: `max_in_flight` becomes `maxInFlight`."""
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def snake(name: str) -> str:
    """Write a name in snake case, as in Python: `maxInFlight` becomes `max_in_flight`."""
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda capital: f"_{capital[0]}", name).lower()


def setting(name: str) -> str:
    """The name of a setting in HTTP documents."""
    return _SETTINGS.get(name) or camel(name)


def settings(values: Mapping[str, object]) -> dict[str, object]:
    """Rename settings for an HTTP document, where modes are in capitals."""
    wire = {setting(name): value for name, value in values.items()}
    if isinstance(mode := wire.get("mode"), str):
        wire["mode"] = mode.upper()
    return wire


def settings_back(values: Mapping[str, object]) -> dict[str, object]:
    """Rename the settings of an HTTP document to their names in Python."""
    back = {_SETTINGS_BACK.get(name) or snake(name): value for name, value in values.items()}
    return {**back, "mode": str(back["mode"]).lower()} if "mode" in back else back


def argument_of(field: str, names: Mapping[str, str]) -> str:
    """The Python argument of a field of an HTTP document: `messages[3].delaySeconds` is `delay_seconds[3]`."""
    if match := _IN_BATCH.fullmatch(field):
        index, inner = match[1], match[2] or "body"
        if "messages" not in names:  # a verb of one message, sent as a batch
            return argument_of(inner, names)
        return f"{argument_of(inner, names)}[{index}]"
    if field in names:
        return names[field]
    name, bracket, index = re.split(r"[.\[]", field, maxsplit=1)[0], *field.partition("[")[1:]
    return (names.get(name) or snake(name)) + (bracket + index if field.startswith(f"{name}[") else "")
