"""The features of a message: each path of its payload and attributes with its values, so that messages can be compared.

Pure, and runs in Spark's workers. Depth, list elements, and the lengths of keys and values are limited. Values that
masking rules hide are not read, and neither is their presence; the rules mean the same as in `dlq.masking.masks`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

READ_CHARACTERS = 65_536
"""Longest payload that is read; a longer one is counted as unread."""
MAX_FEATURES = 1_000
"""Largest number of features of a message. A message with more is counted as unread and not cut: features that were
cut off would be reported as missing."""
DEEPEST = 8
MAX_ELEMENTS = 20
KEY_CHARACTERS, VALUE_CHARACTERS = 100, 80

HAS, TYPE, VALUE, RANGE = "has", "type", "value", "range"
ALL, UNREAD = "all", "unread"
"""Features of each message that was read, and of each that was not: totals are counted as features too."""

Steps = tuple[str, ...]
Hidden = tuple[frozenset[Steps], frozenset[Steps]]
"""Masking rules of the payload and of the attributes."""
Feature = tuple[str, str, str]
"""Path as JSON (part first, null for any list element), kind of feature, and value as JSON or words."""

_as_json = json.JSONEncoder(ensure_ascii=False).encode
_as_narrow_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

NOTHING_HIDDEN: Hidden = (frozenset(), frozenset())


def of_message(payload: str | None, attributes: str | None, hidden: Hidden = NOTHING_HIDDEN) -> list[Feature]:
    """List the distinct features of a message; a message above a limit has only the feature `UNREAD`."""
    found: dict[Feature, None] = {("[]", ALL, ""): None}
    try:
        for part, text, rules in (("payload", payload, hidden[0]), ("attributes", attributes, hidden[1])):
            if (text is None and part == "payload") or len(text or "") > READ_CHARACTERS:
                return [("[]", UNREAD, "")]
            # Attributes may quote masked values of the payload, so they are not read when the payload has masks.
            if text is not None and not (part == "attributes" and hidden[0]):
                found |= dict.fromkeys(_walked((part,), json.loads(text), rules))
            if len(found) > MAX_FEATURES:
                return [("[]", UNREAD, "")]
    except (ValueError, RecursionError):
        return [("[]", UNREAD, "")]
    return list(found)


def _walked(path: tuple[str | None, ...], node: Any, rules: frozenset[Steps]) -> Iterator[Feature]:
    if _ends(rules) or len(path) > DEEPEST + 1:
        return
    name = _named(path)
    kind = _type_of(node)
    if len(path) > 1:
        yield name, HAS, ""
    yield name, TYPE, kind
    if isinstance(node, dict):
        for key, value in node.items():
            if len(key) <= KEY_CHARACTERS:
                yield from _walked((*path, key), value, _after(rules, key))
    elif isinstance(node, list):
        for index, value in enumerate(node[:MAX_ELEMENTS]):
            yield from _walked((*path, None), value, rules | _after(rules, str(index)))
    else:
        yield from _of_scalar(name, node)


@lru_cache(maxsize=4096)
def _named(path: tuple[str | None, ...]) -> str:
    """Write a path as JSON; cached, because most messages of a queue have the same paths."""
    return _as_narrow_json(path)


def _of_scalar(name: str, value: Any) -> Iterator[Feature]:
    if value is None:
        return  # the type feature says this
    if isinstance(value, float) and not math.isfinite(value):
        return  # a number beyond the range of a double: equal infinities need not be equal numbers
    text = _as_json(value)
    if len(text) <= VALUE_CHARACTERS:
        yield name, VALUE, text
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield name, RANGE, _decade(value)


def _decade(value: float) -> str:
    """Name the power of ten of a number, so that amounts that are all different have a common feature."""
    size = abs(value)
    if size < 1:
        return "0" if size == 0 else "between -1 and 0" if value < 0 else "between 0 and 1"
    digits = len(str(int(size)))
    if digits > 18:
        return "beyond a quintillion" if value > 0 else "below minus a quintillion"
    low, high = 10 ** (digits - 1), 10**digits
    return f"{low:,} up to {high:,}" if value > 0 else f"-{low:,} down to -{high:,}"


def _type_of(node: Any) -> str:
    if isinstance(node, dict | list | str):
        empty = "" if node else "empty "
        return empty + {dict: "object", list: "list", str: "text"}[type(node)]
    if node is None:
        return "null"
    return "true or false" if isinstance(node, bool) else "number"


def _ends(rules: frozenset[Steps]) -> bool:
    return any(not rule or rule == ("**",) for rule in rules)


def _after(rules: frozenset[Steps], key: str) -> frozenset[Steps]:
    return frozenset(rest for rule in rules for rest in _behind(rule, key)) if rules else rules


def _behind(rule: Steps, key: str) -> Iterator[Steps]:
    if rule[:1] == ("**",):
        yield rule
        yield from _behind(rule[1:], key)
    elif rule and (rule[0] == "*" or rule[0].casefold() == key.casefold()):
        yield rule[1:]


def is_hidden(path: Iterable[str | None], hidden: Hidden) -> bool:
    """Tell whether a rule hides the value at this path in any element of the lists on the way."""
    part, *steps = path
    rules = hidden[0] if part == "payload" else hidden[1]
    if part == "attributes" and hidden[0]:
        return True
    for step in steps:
        if _ends(rules):
            return True
        if step is not None:
            rules = _after(rules, step)
        else:
            indexes = {step for rule in rules for step in rule if step.isdigit()} | {"0"}  # after "**", any index
            rules |= frozenset(rest for index in indexes for rest in _after(rules, index))
    return _ends(rules)
