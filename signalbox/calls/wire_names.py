"""Names on the wire and names in Python: of settings, and of the arguments that a refusal is about."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SETTINGS = {
    "visibility_timeout_seconds": "defaultVisibilityTimeoutSeconds",
    "max_receives": "maxReceiveCount",
}
_SETTINGS_BACK = {wire: name for name, wire in _SETTINGS.items()}

#: Arguments by their names on the wire, for each kind of call; others differ only in how their words are joined.
NONE: Mapping[str, str] = {}
SEND = {
    "body": "payload",
    "messageGroupId": "group_id",
    "deduplicationKey": "deduplication_id",
    "attributes.priority": "priority",
}
BATCH = {
    "messages": "payloads",
    "body": "payloads",
    "messageGroupId": "group_ids",
    "deduplicationKey": "deduplication_ids",
    "traceId": "trace_ids",
    "correlationId": "correlation_ids",
    "attributes.priority": "priorities",
}
RECEIVE = {"visibilityTimeoutSeconds": "visibility_timeout"}
VISIBILITY = {"visibilityTimeoutSeconds": "seconds"}
SETTINGS: Mapping[str, str] = _SETTINGS_BACK

_IN_BATCH = re.compile(r"messages\[(\d+)\]\.?(.*)")


def camel(name: str) -> str:
    """Write a name as the wire has it: `max_in_flight` as `maxInFlight`."""
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def snake(name: str) -> str:
    """Write a name of the wire as Python has it: `maxInFlight` as `max_in_flight`."""
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda found: f"_{found[0]}", name).lower()


def setting(name: str) -> str:
    """A setting's name on the wire."""
    return _SETTINGS.get(name) or camel(name)


def settings(values: Mapping[str, object]) -> dict[str, object]:
    """Settings as the wire has them; modes are written in capitals there."""
    wire = {setting(name): value for name, value in values.items()}
    if isinstance(mode := wire.get("mode"), str):
        wire["mode"] = mode.upper()
    return wire


def settings_back(values: Mapping[str, object]) -> dict[str, object]:
    """Settings of the wire by their names in Python."""
    back = {_SETTINGS_BACK.get(name) or snake(name): value for name, value in values.items()}
    return {**back, "mode": str(back["mode"]).lower()} if "mode" in back else back


def argument_of(field: str, names: Mapping[str, str]) -> str:
    """The Python argument that a field of the wire stands for: `messages[3].delaySeconds` is `delay_seconds[3]`."""
    if found := _IN_BATCH.fullmatch(field):
        index, inner = found[1], found[2] or "body"
        if "messages" not in names:  # a batch of one, under a verb that takes one
            return argument_of(inner, names)
        return f"{argument_of(inner, names)}[{index}]"
    if field in names:
        return names[field]
    name, bracket, index = re.split(r"[.\[]", field, maxsplit=1)[0], *field.partition("[")[1:]
    return (names.get(name) or snake(name)) + (bracket + index if field.startswith(f"{name}[") else "")
