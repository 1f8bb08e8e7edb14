"""Syntax of a filter: frozen terms of values, and canonical text that reads back the same.

Operands stay as they were written (`90m` does not become `1h30m`); only needless quotes, spaces and upper
case in keys go, so that a chip in the console shows what its reader typed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal as OneOf

from dlq.filters.keys import KEYS, Kind, Target
from dlq.filters.readings import starts_json_range
from dlq.filters.scanner import FilterError

Operator = OneOf[">", ">=", "<", "<="]

# The apostrophe and the curly quotes. Other languages quote with them; a filter would silently take them as text.
FALSE_QUOTES = "'\u2018\u2019\u201c\u201d"

_SYNTAX_IN_VALUE = re.compile(r'[\s",]')
_SYNTAX_IN_SEGMENT = re.compile(r'[\s":,.\[\]]')
_SLASH_OR_ESCAPE = re.compile(r"\\.|/", re.DOTALL)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Each(Enum):
    """A step of a path that is not a name."""

    EACH = "[]"  # into a list, to any of its elements


EACH = Each.EACH
Path = tuple[str | Each, ...]


@dataclass(frozen=True)
class Literal:
    """One value. `string_only`: it matches only a JSON string, as `"4711"` does; 4711 matches a number too."""

    text: str
    string_only: bool = False


@dataclass(frozen=True)
class Comparison:
    """A bound, as in `>3`."""

    operator: Operator
    text: str


@dataclass(frozen=True)
class Range:
    """Range with both ends, as in `3..5`."""

    low: str
    high: str


@dataclass(frozen=True)
class Present:
    """Any value, as in `group:*`."""


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A part of a filter. `position` and `source` are its place in the parsed text; equality ignores them."""

    position: int = field(default=0, compare=False)
    source: str = field(default="", compare=False)

    def error(self, message: str, expected: str) -> FilterError:
        """Make an error that marks this whole part."""
        token = self.source or str(self)
        return FilterError(self.position, len(token), token, message, expected)


@dataclass(frozen=True)
class Pattern(Placed):
    """A regular expression as PostgreSQL reads it, as in `/timed? out/`; an `i` behind it ignores case."""

    text: str
    ignores_case: bool = False

    def __str__(self) -> str:
        escaped = _SLASH_OR_ESCAPE.sub(lambda found: r"\/" if found.group() == "/" else found.group(), self.text)
        return f"/{escaped}/{'i' if self.ignores_case else ''}"


Value = Literal | Comparison | Range | Present | Pattern


@dataclass(frozen=True)
class Term(Placed):
    """One key and its values, of which one must match, or none when negated."""

    key: str
    values: tuple[Value, ...]
    path: Path = ()
    negated: bool = False

    def __str__(self) -> str:
        minus = "-" if self.negated else ""
        values = ",".join(render_value(self.key, value) for value in self.values)
        return f"{minus}{self.name}:{values}"

    @property
    def name(self) -> str:
        """The key with its path, as it is written."""
        return self.key + "".join(
            step.value if isinstance(step, Each) else f".{_render_segment(step)}" for step in self.path
        )

    def check_target(self, target: Target) -> None:
        """Raise `FilterError` for a key that the rows of `target` cannot answer."""
        key = KEYS[self.key]
        if target not in key.columns:
            places = ", ".join(place.phrase for place in key.targets)
            raise self.error(f"{key.name}: does not work for {target.phrase}.", f"{key.name}: only with {places}")

    @property
    def literals(self) -> list[str]:
        """The texts of the single values."""
        return [value.text for value in self.values if isinstance(value, Literal)]

    @property
    def patterns(self) -> list[Pattern]:
        """The regular expressions of this term."""
        return [value for value in self.values if isinstance(value, Pattern)]

    @property
    def bounds(self) -> list[Comparison | Range]:
        """The comparisons and ranges."""
        return [value for value in self.values if isinstance(value, Comparison | Range)]


def quote(text: str) -> str:
    """Put text in quotes, whatever it holds."""
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def render_value(key: str, value: Value) -> str:
    """Write one value as it reads back under `key`."""
    kind = KEYS[key].kind
    match value:
        case Present():
            return "*"
        case Pattern():
            return str(value)
        case Comparison():
            return value.operator + _render_operand(kind, value.text)
        case Range():
            return f"{_render_operand(kind, value.low)}..{_render_operand(kind, value.high)}"
        case Literal():
            return quote(value.text) if value.string_only else _render_operand(kind, value.text)


def _render_operand(kind: Kind, text: str) -> str:
    return quote(text) if _needs_quotes(kind, text) else text


def _needs_quotes(kind: Kind, text: str) -> bool:
    if not text or text == "*" or text[0] in "/<>" + FALSE_QUOTES or _SYNTAX_IN_VALUE.search(text):
        return True
    return kind is Kind.JSON and starts_json_range(text)


def _render_segment(segment: str) -> str:
    return quote(segment) if not segment or _SYNTAX_IN_SEGMENT.search(segment) else segment
