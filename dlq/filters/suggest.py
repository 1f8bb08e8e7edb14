"""Completions at the cursor, and corrections of misspelled words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from dlq.filters.keys import KEYS, STATES, Kind, Target

# Words of the API, of columns and of other consoles, and the key that says the same here.
_SYNONYMS = {
    synonym: key
    for key, synonyms in {
        "age": ["older"],
        "attempts": ["receive_count", "retries"],
        "attr": ["attribute", "attributes"],
        "class": ["error_class", "exception"],
        "consumer": ["worker"],
        "dead": ["died", "died_at"],
        "dedup": ["deduplication_id"],
        "error": ["message"],
        "failed": ["failed_at"],
        "fp": ["fingerprint"],
        "group": ["group_id"],
        "id": ["message_id"],
        "payload": ["body", "data"],
        "queue": ["dlq", "source"],
        "redrives": ["redrive_count"],
        "sent": ["created", "created_at", "sent_at"],
        "state": ["status"],
        "trace": ["trace_id"],
    }.items()
    for synonym in synonyms
}
_QUOTED = r'"(?:[^"\\]|\\.)*+(?:"|\Z)'  # a quote that is still open runs to the cursor
_PATTERN = r"/(?:[^/\\]|\\.)*+(?:/|\Z)"  # so does a pattern
_PIECE = re.compile(rf'\s+|(?:{_QUOTED}|(?<![^\s:,-]){_PATTERN}|[^\s"])++', re.DOTALL)
_HEAD = re.compile(rf'(?P<name>[^\s":,.]++)(?:\.(?:{_QUOTED}(?:\[\])*+|[^\s":,.]*+))*+:', re.DOTALL)
_COMMA_OR_VALUE = re.compile(rf',|(?:{_QUOTED}|(?<![^,]){_PATTERN}|[^",])++', re.DOTALL)


@dataclass(frozen=True)
class Completion:
    """The word at the cursor: `prefix` is its text, `position` its start. `key` is empty while a key is typed.

    `options` are words of the filter language, with their help. The caller must look up the names of queues and
    tenants, and the paths in documents with their values.
    """

    key: str
    prefix: str
    position: int
    options: Mapping[str, str]


def complete(text: str, cursor: int, target: Target | None = None) -> Completion:
    """Complete the word at the cursor, also in text that does not parse yet; only keys that `target` answers."""
    before = text[:cursor]
    token = _last(_PIECE, before)
    token = "" if token.isspace() else token.removeprefix("-")
    head = _HEAD.match(token)
    if head is None:
        return Completion("", token, len(before) - len(token), _key_options(token.lower(), target))
    last = _last(_COMMA_OR_VALUE, token[head.end() :])
    prefix = "" if last == "," else last
    return Completion(
        head.group()[:-1],
        prefix,
        len(before) - len(prefix),
        _value_options(head["name"].lower(), prefix.lower(), target),
    )


def closest_key(name: str) -> str | None:
    """Return the key that a person probably meant by an unknown one."""
    lowered = name.lower().lstrip("-")
    return _SYNONYMS.get(lowered) or closest(lowered, KEYS)


def closest(word: str, candidates: Collection[str]) -> str | None:
    """Return the candidate with the most similar spelling, if one is similar enough."""
    return next(iter(get_close_matches(word.lower(), candidates, n=1, cutoff=0.6)), None)


def _last(pattern: re.Pattern[str], text: str) -> str:
    """Return the last match. The patterns of this module match any text without gaps, so it ends with the text."""
    return next((found.group() for found in reversed(list(pattern.finditer(text)))), "")


def _key_options(prefix: str, target: Target | None) -> dict[str, str]:
    return {
        f"{key.name}." if key.takes_path else f"{key.name}:": key.help
        for key in KEYS.values()
        if key.name.startswith(prefix) and (target is None or target in key.targets)
    }


def _value_options(name: str, prefix: str, target: Target | None) -> dict[str, str]:
    """Return the words that the key takes; of states only those that the target can have."""
    key = KEYS.get(name)
    if key is None:
        return {}
    choices = key.choices if key.kind is not Kind.STATE or target is None else STATES.get(target, {})
    return {choice: key.help for choice in choices if choice.startswith(prefix)}
