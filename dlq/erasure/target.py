"""Target of an erasure: a path into documents, and the value at that path. Pure: no database, no web.

Paths are those of masking: they pass through arrays and ignore the case of keys; the `[]` of filters is allowed too.
Values are those of filters: a number without quotes matches the number and the string.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from dlq.filters.readings import JSON_NUMBER, JSON_WORDS
from dlq.masking.masks import Steps, parse_path, values_at
from queues.errors import InvalidArgument

PARTS = ("payload", "attributes")
MAX_VALUE_CHARACTERS = 500
MAX_PATH_CHARACTERS = 1_000
SHORTEST_QUOTED = 3
"""Shortest value that is searched for in texts such as errors: shorter words occur by chance."""
_QUOTED_OR_EACH = re.compile(r'("(?:[^"\\]|\\.)*")|\[\]')
_NUMBER = re.compile(JSON_NUMBER)
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


class Unreadable(ValueError):  # noqa: N818 - it names what happened
    """The document cannot be read as JSON, or is nested too deeply."""


@dataclass(frozen=True)
class Target:
    """Target of an erasure; make it with `read`. `part` is the document of the path: payload or attributes."""

    part: str
    path: str
    value: str

    @cached_property
    def steps(self) -> Steps:
        if len(self.path) > MAX_PATH_CHARACTERS:
            raise InvalidArgument(f"path has {len(self.path)} characters: at most {MAX_PATH_CHARACTERS}", "path")
        return parse_path(_QUOTED_OR_EACH.sub(lambda found: found[1] or "", self.path))

    @cached_property
    def text(self) -> str:
        """The string that the value matches."""
        return str(json.loads(self.value)) if _is_quoted(self.value) else self.value

    @cached_property
    def number(self) -> Decimal | None:
        """The number that the value matches too; None when it is not a number."""
        return Decimal(self.value) if _NUMBER.fullmatch(self.value) else None

    @cached_property
    def needles(self) -> tuple[str, str]:
        """Two texts; each document with the value contains one of them, as PostgreSQL writes jsonb.

        PostgreSQL writes numbers without an exponent, perhaps with zeros at the end, and escapes strings minimally.
        """
        string = json.dumps(self.text, ensure_ascii=False)[1:-1]
        return string, string if self.number is None else _in_full(self.number)

    def holds(self, document: str | bytes) -> bool:
        """Tell whether this JSON text has the value at the path. Raises `Unreadable`."""
        try:
            parsed = json.loads(document, parse_float=Decimal, parse_int=Decimal)
            return any(self._matches(scalar) for scalar in values_at(parsed, self.steps))
        except (ValueError, RecursionError, ArithmeticError) as error:  # the last: numbers beyond Decimal
            raise Unreadable(Unreadable.__doc__) from error

    def quoted_in(self, text: str) -> bool:
        """Tell whether a text, such as an error, contains the value as a word."""
        return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in {self.text, *self.needles})

    def digest(self, key: str) -> str:
        """Return a keyed hash of path and value, which may be kept after the value is deleted."""
        content = json.dumps([self.part, list(self.steps), self.text, self.number is not None])
        return hmac.new(f"signalbox.erasure{key}".encode(), content.encode(), hashlib.sha256).hexdigest()[:16]

    def _matches(self, scalar: object) -> bool:
        if isinstance(scalar, str):
            return scalar == self.text
        return self.number is not None and isinstance(scalar, Decimal) and scalar == self.number


def read(part: str, path: str, value: str) -> Target:
    """Make a target from user input. Raises `InvalidArgument`, which names the field."""
    if part not in PARTS:
        raise InvalidArgument(f"part is {part[:40]!r}: it must be payload or attributes", "part")
    target = Target(part, path, value if _is_quoted(value) else value.strip())
    if not target.steps:
        raise InvalidArgument("path is empty", "path")
    _check_value(target)
    return target


def _check_value(target: Target) -> None:
    value = target.value
    if not value or len(value) > MAX_VALUE_CHARACTERS:
        raise InvalidArgument(f"value has {len(value)} characters: it must have 1 to {MAX_VALUE_CHARACTERS}", "value")
    if _UNSTORABLE.search(value):
        raise InvalidArgument("value contains a character that PostgreSQL cannot store", "value")
    if value in JSON_WORDS:
        raise InvalidArgument(f"value is {value}, which identifies no person: put a string in quotes", "value")
    try:
        text = target.text
    except ValueError:
        raise InvalidArgument('value begins with a quote but is not a JSON string such as "4711"', "value") from None
    if not text or _UNSTORABLE.search(text):
        raise InvalidArgument("value is an empty string, or one that PostgreSQL cannot store", "value")


def _is_quoted(value: str) -> bool:
    return len(value) > 1 and value.startswith('"') and value.endswith('"')


def _in_full(number: Decimal) -> str:
    """Write a number without an exponent, and without zeros at the end of its fraction."""
    if not number:
        return "0"
    whole, _, fraction = f"{number:f}".partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
