"""Conditions inside a payload or the attributes.

Equality is containment, which a GIN index serves. Comparisons and presence follow a strict JSON path, which
steps through objects only, as containment does, and finds nothing where the document has another shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import LiteralString

from dlq.filters.predicates import Predicate
from dlq.filters.readings import is_json_scalar, json_number
from dlq.filters.syntax import Comparison, Literal, Operator, Present, Range, Term

# Comparing with a number leaves other types out: the path's filter is unknown for them.
_TESTS: Mapping[Operator, LiteralString] = {
    ">": " ? (@ > $bound)",
    ">=": " ? (@ >= $bound)",
    "<": " ? (@ < $bound)",
    "<=": " ? (@ <= $bound)",
}
_RANGE_TEST: LiteralString = " ? (@ >= $low && @ <= $high)"


def document_conditions(column: LiteralString, term: Term) -> list[Predicate]:
    """The alternatives of a term with a path."""
    paths = [_at_path(column, term.path, value) for value in term.values if not isinstance(value, Literal)]
    return _contained(column, term) + paths


def _contained(column: LiteralString, term: Term) -> list[Predicate]:
    literals = [value for value in term.values if isinstance(value, Literal)]
    documents = [_nested(term.path, leaf) for literal in literals for leaf in _leaves(literal)]
    if len(documents) == 1:
        return [Predicate(f"{column} @> %s::jsonb", [documents[0]])]
    return [Predicate(f"{column} @> any(%s::jsonb[])", [documents])] if documents else []


def _leaves(literal: Literal) -> list[str]:
    """Without quotes, what JSON reads as a number, true, false or null means that or the string."""
    string = _quoted(literal.text)
    scalar = not literal.string_only and is_json_scalar(literal.text)
    return [literal.text, string] if scalar else [string]


def _nested(path: Sequence[str], leaf: str) -> str:
    for segment in reversed(path):
        leaf = f"{{{_quoted(segment)}: {leaf}}}"
    return leaf


def _at_path(column: LiteralString, path: Sequence[str], value: Comparison | Range | Present) -> Predicate:
    steps = "".join(f".{_quoted(segment)}" for segment in path)
    test, bounds = _test(value)
    sql = f"jsonb_path_exists({column}, %s::jsonpath, %s::jsonb, true)"
    return Predicate(sql, [f"strict ${steps}{test}", _object(bounds)])


def _test(value: Comparison | Range | Present) -> tuple[LiteralString, dict[str, str]]:
    match value:
        case Comparison():
            return _TESTS[value.operator], {"bound": value.text}
        case Range():
            return _RANGE_TEST, {"low": value.low, "high": value.high}
        case Present():
            return "", {}


def _object(numbers: Mapping[str, str]) -> str:
    """Numbers as JSON, in full precision; each is read first, so that nothing else gets in."""
    members = (f"{_quoted(name)}: {json_number(text)}" for name, text in numbers.items())
    return f"{{{', '.join(members)}}}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
