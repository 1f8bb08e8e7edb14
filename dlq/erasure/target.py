"""Target of an erasure: a path into documents and the value that has to be there. No database, no web.

Paths are those of masking, which pass through arrays and match keys in any case; a `[]` behind a key, as filters write
it, says the same and is allowed. Values are those of filters: without quotes, what JSON reads as a number means that
number or the string.
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
"""A shorter value is in every other text, and one that has it as a word says nothing of a person."""
_QUOTED_OR_EACH = re.compile(r'("(?:[^"\\]|\\.)*")|\[\]')
_NUMBER = re.compile(JSON_NUMBER)
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


class Unreadable(ValueError):  # noqa: N818 - it names what happened
    """The document cannot be read as JSON, or is nested too deeply."""


@dataclass(frozen=True)
class Target:
    """Target of an erasure, made by `read`. `part` is where the path begins: the payload, or the attributes."""

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
        """The string that is meant."""
        return str(json.loads(self.value)) if _is_quoted(self.value) else self.value

    @cached_property
    def number(self) -> Decimal | None:
        """The number that is meant as well, if one is."""
        return Decimal(self.value) if _NUMBER.fullmatch(self.value) else None

    @cached_property
    def needles(self) -> tuple[str, str]:
        """Texts of which one is part of every document that holds the value, as PostgreSQL writes jsonb.

        It writes numbers in full, perhaps with zeros behind the last digit, and escapes in strings what must be.
        """
        string = json.dumps(self.text, ensure_ascii=False)[1:-1]
        return string, string if self.number is None else _in_full(self.number)

    def holds(self, document: str | bytes) -> bool:
        """Tell whether this JSON has the value at the path. Raises `Unreadable`."""
        try:
            read = json.loads(document, parse_float=Decimal, parse_int=Decimal)
            return any(self._is(scalar) for scalar in values_at(read, self.steps))
        except (ValueError, RecursionError, ArithmeticError) as error:  # numbers that no decimal holds, too
            raise Unreadable(Unreadable.__doc__) from error

    def quoted_in(self, text: str) -> bool:
        """Tell whether a text, such as that of an error, has the value as a word of its own."""
        return any(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text) for one in {self.text, *self.needles})

    def digest(self, key: str) -> str:
        """Return what may be kept of path and value: the same for the same, and of no use without the key."""
        said = json.dumps([self.part, list(self.steps), self.text, self.number is not None])
        return hmac.new(f"signalbox.erasure{key}".encode(), said.encode(), hashlib.sha256).hexdigest()[:16]

    def _is(self, scalar: object) -> bool:
        if isinstance(scalar, str):
            return scalar == self.text
        return self.number is not None and isinstance(scalar, Decimal) and scalar == self.number


def read(part: str, path: str, value: str) -> Target:
    """A target, checked. Raises `InvalidArgument`, which names the field."""
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
        raise InvalidArgument("value holds a character that PostgreSQL cannot store", "value")
    if value in JSON_WORDS:
        raise InvalidArgument(f"value is {value}, which identifies no person: put a string in quotes", "value")
    try:
        text = target.text
    except ValueError:
        raise InvalidArgument('value begins with a quote and is no JSON string, as "4711" is', "value") from None
    if not text or _UNSTORABLE.search(text):
        raise InvalidArgument("value is an empty string, or one that PostgreSQL cannot store", "value")


def _is_quoted(value: str) -> bool:
    return len(value) > 1 and value.startswith('"') and value.endswith('"')


def _in_full(number: Decimal) -> str:
    """Every digit and no exponent, without zeros at the end of a fraction."""
    if not number:
        return "0"
    whole, _, fraction = f"{number:f}".partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
