"""Masking: replace the values at given paths of a document by a fixed mask. Pure: no database, no web.

Code that shows a message asks `Rules.view` for the masked payload, attributes, errors, state and result. A text that is
not complete JSON, because a list shortened it, is replaced as a whole.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from queues.errors import InvalidArgument
from signalbox.payloads.unreadable import Unreadable

MASK = "•••••"
MAX_STEPS = 20
MAX_PATH_CHARACTERS = 200
# A text that may quote more masked values than this is replaced as a whole.
MAX_VALUES = 500

ORIGIN, ERROR = "dead_letter", "error"
"""The keys of the error in the attributes of a former dead letter, which `_receive_dead_letters` writes."""
CUT_ERROR = 1_000
"""Length to which the engine cuts that error. A value that was cut cannot be recognized."""

Steps = tuple[str, ...]
ANY, ANY_DEPTH = "*", "**"

_STEP = re.compile(r'"((?:[^"\\]|\\.)*)"|([^".]+)')


def parse_path(text: str) -> Steps:
    """Divide a path into keys, as in a.b."c.d": `*` stands for any key, `**` for any number of keys.

    Raises `InvalidArgument`, which names the field `path`.
    """
    if not text or len(text) > MAX_PATH_CHARACTERS:
        raise InvalidArgument(f"path has {len(text)} characters: it must have 1 to {MAX_PATH_CHARACTERS}", "path")
    steps, position = [], 0
    while True:
        step = _STEP.match(text, position)
        if step is None:
            raise InvalidArgument(f"path has no key at character {position + 1}; write it as card.number", "path")
        steps.append(re.sub(r"\\(.)", r"\1", step[1]) if step[2] is None else step[2])
        position = step.end()
        if position == len(text):
            break
        if text[position] != ".":
            raise InvalidArgument(
                f"path has {text[position]!r} at character {position + 1} where a dot must be", "path"
            )
        position += 1
    if len(steps) > MAX_STEPS or steps == [ANY_DEPTH]:
        raise InvalidArgument(f"path must have 1 to {MAX_STEPS} keys, and name one of them", "path")
    return tuple(steps)


def mask(document: Any, rules: Iterable[Steps]) -> Any:
    """Replace the values, arrays and objects at the paths of the rules by the mask.

    The case of keys is ignored. Paths pass through arrays: `items.sku` and `items.*.sku` mean that key in every
    element, `items.0.sku` in the first.
    """
    patterns = frozenset(rules)
    if patterns and isinstance(document, Unreadable):
        return MASK
    try:
        return _masked(document, patterns) if patterns else document
    except RecursionError:
        return MASK


def masked_values(document: Any, rules: Iterable[Steps]) -> frozenset[str]:
    """List the spellings of all values that `mask` hides, as errors may quote them."""
    spellings: set[str] = set()
    patterns = frozenset(rules)
    if patterns and isinstance(document, Unreadable):
        return frozenset({""})
    try:
        for value in _scalars(document, patterns, below=True):
            spellings.update(_spellings(value))
    except RecursionError:
        return frozenset({""})
    return frozenset(spellings - {""})


def values_at(document: Any, rule: Steps) -> Iterator[Any]:
    """Yield the scalar at a path, or each scalar element of an array at the path. Raises RecursionError."""
    return _scalars(document, frozenset([rule]), below=False)


def scrub(text: str, values: Set[str]) -> str:
    """Replace each value in a text by the mask, ignoring case; the whole text when there are too many values."""
    lengths, ordered = _searched(frozenset(values))
    short_enough = bisect_right(lengths, len(text))
    if "" in values or short_enough > MAX_VALUES:
        return MASK
    return _covered(text, _places(text, ordered[:short_enough]))


@lru_cache(maxsize=64)
def _searched(values: frozenset[str]) -> tuple[list[int], list[str]]:
    """Return the sorted lengths of all values, and the shortest `MAX_VALUES` values in lower case."""
    return sorted(map(len, values)), [_folded(value) for value in sorted(values, key=len)[:MAX_VALUES]]


def _places(text: str, values: Iterable[str]) -> list[tuple[int, int]]:
    """Find the positions of values, one value at a time: a pattern of all of them would not be linear."""
    folded, found = _folded(text), []
    for value in values:
        start = folded.find(value)
        while start >= 0:
            found.append((start, start + len(value)))
            start = folded.find(value, start + len(value))
    return sorted(found)


def _covered(text: str, places: Iterable[tuple[int, int]]) -> str:
    """Replace each place by a mask; overlapping places get one mask."""
    parts, shown_to = [], 0
    for start, end in places:
        if start >= shown_to:
            parts += [text[shown_to:start], MASK]
        shown_to = max(shown_to, end)
    return "".join([*parts, text[shown_to:]])


def _folded(text: str) -> str:
    """Convert a text to lower case without changing its length."""
    return text.lower() if text.isascii() else "".join(map(_folded_character, text))


@lru_cache(maxsize=4_096)
def _folded_character(character: str) -> str:
    variants = (character.casefold(), character.lower(), character)
    return next(variant for variant in variants if len(variant) == 1)


def scrub_document(document: Any, values: Set[str]) -> Any:
    """Replace masked values that a document quotes, such as a state or a result."""
    if isinstance(document, Unreadable):
        return MASK if values else document
    try:
        return _scrubbed(document, values)
    except RecursionError:
        return MASK


def touches(asked: Steps, rules: Iterable[Steps]) -> bool:
    """Tell whether a query of this path could reveal a masked value: whether one path is the beginning of the other."""
    return any(_meets(asked, rule) for rule in rules)


def covers(rules: Iterable[Steps], others: Iterable[Steps]) -> bool:
    """Tell whether `rules` mask everything that `others` mask, in any document."""
    known = list(rules)
    return all(any(_holds_for(rule, other) for rule in known) for other in others)


@dataclass(frozen=True)
class Rules:
    """Rules for a message: masked paths into its payload and into its attributes."""

    payload: frozenset[Steps] = frozenset()
    attributes: frozenset[Steps] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.payload or self.attributes)

    def __or__(self, other: Rules) -> Rules:
        return Rules(self.payload | other.payload, self.attributes | other.attributes)

    def covers(self, other: Rules) -> bool:
        """Tell whether these rules mask everything that the other rules mask."""
        return covers(self.payload, other.payload) and covers(self.attributes, other.attributes)

    def view(self, payload: Any, attributes: Any = None, *, complete: bool = True) -> View:
        """Make the masked view of a message. `complete` is false when a part of the payload was not loaded."""
        known = complete or not self.payload
        return View(self, self.values(payload, attributes) if known else None)

    def mask_text(self, text: str | None) -> str | None:
        """Mask the text of a payload in a list, which may be shortened."""
        if not self.payload or text is None or text.startswith("large body of "):
            return text
        try:
            return json.dumps(mask(json.loads(text), self.payload), ensure_ascii=False)
        except (ValueError, RecursionError):
            return MASK

    def values(self, payload: Any, attributes: Any = None) -> frozenset[str]:
        """List the spellings of the masked values of a message."""
        return masked_values(payload, self.payload) | masked_values(attributes, self.attributes)


@dataclass(frozen=True)
class View:
    """The masked documents and texts of one message, for display; made by `Rules.view`."""

    rules: Rules
    values: frozenset[str] | None
    """Spellings of the masked values of this message; None when its body was not loaded."""

    def also(self, *payloads: Any) -> View:
        """Extend the view by former payloads of the message, which texts may quote too."""
        if self.values is None:
            return self
        return View(self.rules, self.values.union(*(self.rules.values(payload) for payload in payloads)))

    def payload(self, document: Any) -> Any:
        """Mask the payload, or a former payload of the message."""
        return mask(document, self.rules.payload)

    def attributes(self, document: Any) -> Any:
        """Mask the attributes, and the error in the attributes of a former dead letter."""
        if not self.rules:
            return document
        shown = mask(document, self.rules.attributes)
        if (error := origin_text(shown, ERROR)) is not None and (self.values is None or len(error) >= CUT_ERROR):
            shown = {**shown, ORIGIN: {**shown[ORIGIN], ERROR: MASK}}
        return shown if self.values is None else scrub_document(shown, self.values)

    def text(self, text: str | None) -> str | None:
        """Mask the text of an error or a stack."""
        if text is None or not self.rules:
            return text
        return MASK if self.values is None else scrub(text, self.values)

    def document(self, document: Any) -> Any:
        """Mask a state or result, which a handler may have filled from the payload."""
        if document is None or not self.rules:
            return document
        return MASK if self.values is None else scrub_document(self.payload(document), self.values)


def origin_text(attributes: Any, key: str) -> str | None:
    """Return a text that the engine wrote into the attributes of a former dead letter, if there is one."""
    origin = attributes.get(ORIGIN) if isinstance(attributes, dict) else None
    text = origin.get(key) if isinstance(origin, dict) else None
    return text if isinstance(text, str) else None


def _masked(node: Any, patterns: frozenset[Steps]) -> Any:
    if _ends(patterns):
        return MASK
    if not patterns:
        return node
    if isinstance(node, dict):
        return {key: _masked(value, _after(patterns, key)) for key, value in node.items()}
    if isinstance(node, list):
        return [_masked(item, patterns | _after(patterns, str(index))) for index, item in enumerate(node)]
    return node


def _scalars(node: Any, patterns: frozenset[Steps], *, below: bool, within: bool = False) -> Iterator[Any]:
    """Yield the scalars at the paths; with `below` also those inside of objects there, as `_masked` hides them."""
    within = _ends(patterns) or (below and within)
    if not patterns and not within:
        return
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _scalars(value, _after(patterns, key), below=below, within=within)
    elif isinstance(node, list):
        for index, item in enumerate(node):
            yield from _scalars(item, patterns | _after(patterns, str(index)), below=below, within=within)
    elif within:
        yield node


def _ends(patterns: frozenset[Steps]) -> bool:
    return any(not rule or rule == (ANY_DEPTH,) for rule in patterns)


def _after(patterns: frozenset[Steps], key: str) -> frozenset[Steps]:
    """Return the rests of the rules that match this key, behind the key."""
    return frozenset(rest for rule in patterns for rest in _behind(rule, key))


def _behind(rule: Steps, key: str) -> Iterator[Steps]:
    if rule[:1] == (ANY_DEPTH,):
        yield rule
        yield from _behind(rule[1:], key)
    elif rule and (rule[0] == ANY or rule[0].casefold() == key.casefold()):
        yield rule[1:]


@lru_cache(maxsize=8_192)  # paths with wildcards match in exponentially many ways; the cache compares each pair once
def _meets(asked: Steps, rule: Steps) -> bool:
    if not asked or not rule or ANY_DEPTH in (asked[0], rule[0]):
        return True
    if asked[0].isdigit() and _meets(asked[1:], rule):
        return True  # the query names an element of an array that the rule passes through
    if (rule[0].isdigit() or rule[0] == ANY) and _meets(asked, rule[1:]):
        return True  # the rule names an element of an array that the query passes through
    same = ANY in (asked[0], rule[0]) or asked[0].casefold() == rule[0].casefold()
    return same and _meets(asked[1:], rule[1:])


@lru_cache(maxsize=8_192)
def _holds_for(rule: Steps, other: Steps) -> bool:
    """Tell whether the rule masks everything that the other rule masks."""
    if not rule or (len(rule) == 1 and rule[0] == ANY_DEPTH):
        return True
    if rule[0] == ANY_DEPTH and any(_holds_for(rule[1:], other[start:]) for start in range(len(other) + 1)):
        return True
    if not other or (other[0] == ANY_DEPTH) != (rule[0] == ANY_DEPTH) or (other[0] == ANY and rule[0] != ANY):
        return False
    same = rule[0] == ANY or rule[0].casefold() == other[0].casefold()
    return same and _holds_for(rule[1:], other[1:])


def _scrubbed(node: Any, values: Set[str]) -> Any:
    if isinstance(node, dict):
        return {scrub(key, values): _scrubbed(value, values) for key, value in node.items()}
    if isinstance(node, list):
        return [_scrubbed(item, values) for item in node]
    if isinstance(node, str):
        return scrub(node, values)
    if node is None or isinstance(node, bool):
        return node
    return MASK if scrub(json.dumps(node), values) != json.dumps(node) else node


def _spellings(value: Any) -> set[str]:
    """List the spellings of a scalar in errors and stacks; null, true and false identify nothing and have none."""
    if value is None or isinstance(value, bool):
        return set()
    if isinstance(value, str):
        escaped = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
        return {value, value.strip()} | escaped
    return {json.dumps(value), str(value)}
