"""The grammar of `dlq.filters` for lists that are not of messages: terms over a few keys of their own.

term = [ "-" ] [ key ":" ] value { "," value }
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from dlq.filters.readings import MisreadError
from dlq.filters.scanner import FilterError, Scanner, shown
from dlq.filters.suggest import closest

_KEY = re.compile(r'[^\s":,]+(?=:)')
_VALUE = re.compile(r'[^\s",]+')
MAX_LISTED = 5
"""The number of keys up to which an error lists all keys."""
Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Key:
    """One key of a list. `choices` are the allowed values, if limited. `read` raises MisreadError for a wrong value.

    `aliases` are other names of the key.
    """

    help: str
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Term:
    """A key and its values: one value must match, or none if the term is negated."""

    key: str
    values: tuple[str, ...]
    negated: bool


def select(rows: QuerySet[Row], text: str, keys: Mapping[str, Key], wordless: str) -> QuerySet[Row]:
    """Return the rows that `text` selects; the `read` of each key makes conditions of values. Raises FilterError."""
    for term in parse(text, keys, wordless):
        read = keys[term.key].read
        matching = Q(*(read(value) for value in term.values if read), _connector=Q.OR)
        rows = rows.exclude(matching) if term.negated else rows.filter(matching)
    return rows


def parse(text: str, keys: Mapping[str, Key], wordless: str) -> list[Term]:
    """Parse terms, which must all match; `wordless` is the key of a value without a key. Raises FilterError."""
    scanner, terms = Scanner(text), []
    scanner.skip_spaces()
    while not scanner.at_end:
        terms.append(_term(scanner, keys, wordless))
        scanner.skip_spaces()
    return terms


def _term(scanner: Scanner, keys: Mapping[str, Key], wordless: str) -> Term:
    start = scanner.position
    negated = scanner.take("-")
    written = scanner.match(_KEY).lower()
    name = next((key for key, one in keys.items() if written == key or written in one.aliases), "")
    if written and not name:
        raise _unknown(scanner, start, written, keys)
    if name:
        scanner.take(":")
    key = name or wordless
    values = [_value(scanner, start, key, keys[key])]
    while scanner.take(","):
        values.append(_value(scanner, start, key, keys[key]))
    return Term(key, tuple(values), negated)


def _unknown(scanner: Scanner, start: int, written: str, keys: Mapping[str, Key]) -> FilterError:
    """Return the error about an unknown key. It names the nearest key, and all keys if there are few."""
    meant = closest(written, keys)
    question = f" Did you mean {meant}:?" if meant else ""
    others = f"{meant}: or another key" if meant else "a key of this list"
    expected = f"one of {', '.join(keys)}" if len(keys) <= MAX_LISTED else others
    return scanner.error(start, f"Unknown key {shown(written)}:.{question}", expected)


def _value(scanner: Scanner, start: int, name: str, key: Key) -> str:
    at = scanner.position
    value = scanner.quoted() if scanner.is_next('"') else scanner.match(_VALUE)
    if not value:
        expected = f"one of {', '.join(key.choices)}" if key.choices else "some text right after it"
        raise scanner.error(start, f"{name}: has no value.", expected)
    if key.choices and value not in key.choices:
        raise scanner.error(at, f"{name}: does not take {shown(value)}.", f"one of {', '.join(key.choices)}")
    if key.read:
        try:
            key.read(value)
        except MisreadError as misread:
            raise scanner.error(at, f"{name}: does not take {shown(value)}.", str(misread)) from None
    return value
