"""Masking: values at named paths of a document replaced by one fixed mask. Pure: no database, no web.

Code that shows a message asks `Rules.view` for the masked payload, attributes, errors, state and result. A text that
is not whole JSON, because a list cut it, is masked as a whole: half a document may be half a secret.
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
from signalbox.unreadable import Unreadable

MASK = "•••••"
MAX_STEPS = 20
MAX_PATH_CHARACTERS = 200
# More values than this are not looked for one by one in a text: it is masked as a whole.
MAX_VALUES = 500

ORIGIN, ERROR = "dead_letter", "error"
"""The keys under which attributes of a former dead letter have its error, as `_receive_dead_letters` writes them."""
CUT_ERROR = 1_000
"""The engine cuts that error to this length. A value that is cut at its end is not recognised."""

Steps = tuple[str, ...]
ANY, ANY_DEPTH = "*", "**"

_STEP = re.compile(r'"((?:[^"\\]|\\.)*)"|([^".]+)')


def parse_path(text: str) -> Steps:
    """The steps of a path: keys with dots between them; `*` is any one key, `**` any number; quotes hold dots.

    Raises `InvalidArgument`, which names the field `path`.
    """
    if not text or len(text) > MAX_PATH_CHARACTERS:
        raise InvalidArgument(f"path has {len(text)} characters: it must have 1 to {MAX_PATH_CHARACTERS}", "path")
    steps, at = [], 0
    while True:
        found = _STEP.match(text, at)
        if found is None:
            raise InvalidArgument(f"path has no key at character {at + 1}, as in card.number", "path")
        steps.append(re.sub(r"\\(.)", r"\1", found[1]) if found[2] is None else found[2])
        at = found.end()
        if at == len(text):
            break
        if text[at] != ".":
            raise InvalidArgument(f"path has {text[at]!r} at character {at + 1} where a dot must be", "path")
        at += 1
    if len(steps) > MAX_STEPS or steps == [ANY_DEPTH]:
        raise InvalidArgument(f"path must have 1 to {MAX_STEPS} keys, and name one of them", "path")
    return tuple(steps)


def mask(document: Any, rules: Iterable[Steps]) -> Any:
    """The document with the mask in the place of whatever a rule names: a value, an array or an object.

    Keys match whatever their case. Arrays are passed through: `items.sku` is that key in every element, as is
    `items.*.sku`, and `items.0.sku` in the first.
    """
    patterns = frozenset(rules)
    if patterns and isinstance(document, Unreadable):
        return MASK
    try:
        return _masked(document, patterns) if patterns else document
    except RecursionError:
        return MASK


def masked_values(document: Any, rules: Iterable[Steps]) -> frozenset[str]:
    """Every text in which what `mask` hides may be quoted elsewhere."""
    found: set[str] = set()
    patterns = frozenset(rules)
    if patterns and isinstance(document, Unreadable):
        return frozenset({""})
    try:
        for value in _scalars(document, patterns, below=True):
            found.update(_spellings(value))
    except RecursionError:
        return frozenset({""})
    return frozenset(found - {""})


def values_at(document: Any, rule: Steps) -> Iterator[Any]:
    """Every scalar that lies just where a path leads; of an array there, each element. Raises RecursionError."""
    return _scalars(document, frozenset([rule]), below=False)


def scrub(text: str, values: Set[str]) -> str:
    """The text with the mask in the place of every value, in any case; all of it when there are too many."""
    lengths, ordered = _searched(frozenset(values))
    short_enough = bisect_right(lengths, len(text))
    if "" in values or short_enough > MAX_VALUES:
        return MASK
    return _covered(text, _places(text, ordered[:short_enough]))


@lru_cache(maxsize=64)
def _searched(values: frozenset[str]) -> tuple[list[int], list[str]]:
    """The lengths of values, and as many values as are looked for, without regard to case, the shortest first.

    In a text that could hold more of them nothing is looked for.
    """
    return sorted(map(len, values)), [_folded(one) for one in sorted(values, key=len)[:MAX_VALUES]]


def _places(text: str, values: Iterable[str]) -> list[tuple[int, int]]:
    """Return where values stand, each looked for by itself: one pattern of all would take time by their lengths."""
    folded, found = _folded(text), []
    for value in values:
        start = folded.find(value)
        while start >= 0:
            found.append((start, start + len(value)))
            start = folded.find(value, start + len(value))
    return sorted(found)


def _covered(text: str, places: Iterable[tuple[int, int]]) -> str:
    """The text with one mask over each place; over places that overlap, one for all."""
    parts, shown_to = [], 0
    for start, end in places:
        if start >= shown_to:
            parts += [text[shown_to:start], MASK]
        shown_to = max(shown_to, end)
    return "".join([*parts, text[shown_to:]])


def _folded(text: str) -> str:
    """Lower the case of a text without changing its length."""
    return text.lower() if text.isascii() else "".join(map(_folded_character, text))


@lru_cache(maxsize=4_096)
def _folded_character(one: str) -> str:
    return next((folded for folded in (one.casefold(), one.lower()) if len(folded) == 1), one)


def scrub_document(document: Any, values: Set[str]) -> Any:
    """A document that may quote masked values: a state, a result."""
    if isinstance(document, Unreadable):
        return MASK if values else document
    try:
        return _scrubbed(document, values)
    except RecursionError:
        return MASK


def touches(asked: Steps, rules: Iterable[Steps]) -> bool:
    """Tell whether asking for this path could tell something of a masked one: it lies on the way there, or behind."""
    return any(_meets(asked, rule) for rule in rules)


def covers(rules: Iterable[Steps], others: Iterable[Steps]) -> bool:
    """Tell whether `rules` mask everything that the `others` mask, in any document."""
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
        """The masked view of a message. `complete` is false when a part of its payload or attributes is elsewhere."""
        known = complete or not self.payload
        return View(self, self.values(payload, attributes) if known else None)

    def mask_text(self, text: str | None) -> str | None:
        """The text of a payload as lists have it, perhaps cut."""
        if not self.payload or text is None or text.startswith("large body of "):
            return text
        try:
            return json.dumps(mask(json.loads(text), self.payload), ensure_ascii=False)
        except (ValueError, RecursionError):
            return MASK

    def values(self, payload: Any, attributes: Any = None) -> frozenset[str]:
        """Return what is hidden of one message, as it may be quoted in errors."""
        return masked_values(payload, self.payload) | masked_values(attributes, self.attributes)


@dataclass(frozen=True)
class View:
    """The masked documents and texts of one message; code that shows a message uses it. Made by `Rules.view`."""

    rules: Rules
    values: frozenset[str] | None
    """Every spelling of the masked values of this message; None where its body is not at hand."""

    def also(self, *payloads: Any) -> View:
        """The view of a message that had these payloads before: texts may quote those too."""
        if self.values is None:
            return self
        return View(self.rules, self.values.union(*(self.rules.values(one) for one in payloads)))

    def payload(self, document: Any) -> Any:
        """The masked payload, or a masked former payload of the message."""
        return mask(document, self.rules.payload)

    def attributes(self, document: Any) -> Any:
        """The masked attributes, with the error that attributes of a former dead letter quote."""
        if not self.rules:
            return document
        shown = mask(document, self.rules.attributes)
        if (error := _quoted_error(shown)) is not None and (self.values is None or len(error) >= CUT_ERROR):
            shown = {**shown, ORIGIN: {**shown[ORIGIN], ERROR: MASK}}
        return shown if self.values is None else scrub_document(shown, self.values)

    def text(self, text: str | None) -> str | None:
        """The masked text of an error or a stack."""
        if text is None or not self.rules:
            return text
        return MASK if self.values is None else scrub(text, self.values)

    def document(self, document: Any) -> Any:
        """A masked state or result, which a handler may have filled from the payload."""
        if document is None or not self.rules:
            return document
        return MASK if self.values is None else scrub_document(self.payload(document), self.values)


def _quoted_error(attributes: Any) -> str | None:
    """The error that the engine wrote into the attributes of a message that was dead."""
    origin = attributes.get(ORIGIN) if isinstance(attributes, dict) else None
    error = origin.get(ERROR) if isinstance(origin, dict) else None
    return error if isinstance(error, str) else None


def _masked(node: Any, patterns: frozenset[Steps]) -> Any:
    if _ends(patterns):
        return MASK
    if not patterns:
        return node
    if isinstance(node, dict):
        return {key: _masked(value, _after(patterns, key)) for key, value in node.items()}
    if isinstance(node, list):
        return [_masked(one, patterns | _after(patterns, str(index))) for index, one in enumerate(node)]
    return node


def _scalars(node: Any, patterns: frozenset[Steps], *, below: bool, within: bool = False) -> Iterator[Any]:
    """The scalars that lie just where a path leads; with `below` those behind it, too: all that `_masked` hides."""
    within = _ends(patterns) or (below and within)
    if not patterns and not within:
        return
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _scalars(value, _after(patterns, key), below=below, within=within)
    elif isinstance(node, list):
        for index, one in enumerate(node):
            yield from _scalars(one, patterns | _after(patterns, str(index)), below=below, within=within)
    elif within:
        yield node


def _ends(patterns: frozenset[Steps]) -> bool:
    return any(not rule or rule == (ANY_DEPTH,) for rule in patterns)


def _after(patterns: frozenset[Steps], key: str) -> frozenset[Steps]:
    """Return what is left of the rules behind this key."""
    return frozenset(rest for rule in patterns for rest in _behind(rule, key))


def _behind(rule: Steps, key: str) -> Iterator[Steps]:
    if rule[:1] == (ANY_DEPTH,):
        yield rule
        yield from _behind(rule[1:], key)
    elif rule and (rule[0] == ANY or rule[0].casefold() == key.casefold()):
        yield rule[1:]


@lru_cache(maxsize=8_192)  # paths of wildcards meet in exponentially many ways; the cache compares each pair once
def _meets(asked: Steps, rule: Steps) -> bool:
    if not asked or not rule or ANY_DEPTH in (asked[0], rule[0]):
        return True
    if asked[0].isdigit() and _meets(asked[1:], rule):
        return True  # an index of an array that the rule passes through
    if (rule[0].isdigit() or rule[0] == ANY) and _meets(asked, rule[1:]):
        return True  # the rule names elements of an array; the question passes through it
    same = ANY in (asked[0], rule[0]) or asked[0].casefold() == rule[0].casefold()
    return same and _meets(asked[1:], rule[1:])


@lru_cache(maxsize=8_192)
def _holds_for(rule: Steps, other: Steps) -> bool:
    """Tell whether every path that the other rule masks lies at, or below, a path that the rule masks."""
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
        return [_scrubbed(one, values) for one in node]
    if isinstance(node, str):
        return scrub(node, values)
    if node is None or isinstance(node, bool):
        return node
    return MASK if scrub(json.dumps(node), values) != json.dumps(node) else node


def _spellings(value: Any) -> set[str]:
    """Return how a scalar may stand in an error or a stack; null, true and false tell nothing."""
    if value is None or isinstance(value, bool):
        return set()
    if isinstance(value, str):
        escaped = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
        return {value, value.strip()} | escaped
    return {json.dumps(value), str(value)}
