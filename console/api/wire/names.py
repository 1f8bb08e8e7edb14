"""The words of the wire beside the engine's: camelCase of the same, but for the few that the wire calls otherwise."""

from __future__ import annotations

import re

from pydantic.alias_generators import to_camel

OTHER_WORDS = {
    "payload": "body",
    "payloads": "body",
    "group_id": "messageGroupId",
    "group_ids": "messageGroupId",
    "deduplication_id": "deduplicationKey",
    "deduplication_ids": "deduplicationKey",
    "max_receives": "maxReceiveCount",
    "visibility_timeout_seconds": "defaultVisibilityTimeoutSeconds",
    "visibility_timeout": "visibilityTimeoutSeconds",
    "seconds": "visibilityTimeoutSeconds",
    "priority": "attributes.priority",
    "priorities": "attributes.priority",
    "rate": "maxMessagesPerSecond",
}
"""By the engine's word."""


def wire_field(engine_field: str) -> str:
    """The name of a field on the wire; what stands behind it, such as a place in a list, stays."""
    word = _WORD.match(engine_field)
    if not word:
        return engine_field
    return OTHER_WORDS.get(word[0], to_camel(word[0])) + engine_field[word.end() :]


_WORD = re.compile(r"[a-z_]+")
