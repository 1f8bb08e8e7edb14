"""Conditions inside a payload or the attributes.

Equality is containment, which a GIN index serves. Comparisons, patterns and presence follow a strict JSON path, which
steps into objects by name and into lists where `[]` says so, as containment does, and finds nothing where the
document has another shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import LiteralString

from dlq.filters.predicates import Predicate
from dlq.filters.readings import is_json_scalar, json_number
from dlq.filters.syntax import Comparison, Each, Literal, Operator, Path, Pattern, Present, Range, Term

# Comparing with a number leaves other types out: the path's filter is unknown for them.
_TESTS: Mapping[Operator, LiteralString] = {
    ">": " ? (@ > $bound)",
    ">=": " ? (@ >= $bound)",
    "<": " ? (@ < $bound)",
    "<=": " ? (@ <= $bound)",
}
# The operators of PostgreSQL that match a regular expression, by whether they ignore case.
MATCHES: Mapping[bool, LiteralString] = {False: "~", True: "~*"}
_RANGE_TEST: LiteralString = " ? (@ >= $low && @ <= $high)"


def document_conditions(column: LiteralString, term: Term) -> list[Predicate]:
    """The alternatives of a term with a path."""
    tests = [value for value in term.values if isinstance(value, Comparison | Range | Present)]
    paths = [_at_path(column, term.path, value) for value in tests]
    return _contained(column, term) + paths + [_matching(column, term.path, one) for one in term.patterns]


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


def _nested(path: Path, leaf: str) -> str:
    for step in reversed(path):
        leaf = f"[{leaf}]" if isinstance(step, Each) else f"{{{_quoted(step)}: {leaf}}}"
    return leaf


def _at_path(column: LiteralString, path: Path, value: Comparison | Range | Present) -> Predicate:
    test, bounds = _test(value)
    sql = f"jsonb_path_exists({column}, %s::jsonpath, %s::jsonb, true)"
    return Predicate(sql, [f"strict {_steps(path)}{test}", _object(bounds)])


def _matching(column: LiteralString, path: Path, pattern: Pattern) -> Predicate:
    """Strings, and numbers and truth values as they are written; never lists and objects."""
    sql: LiteralString = (
        f"exists (select from jsonb_path_query({column}, %s::jsonpath, '{{}}'::jsonb, true) one(value)"
        " where jsonb_typeof(one.value) in ('string', 'number', 'boolean')"
        f" and (one.value #>> '{{}}') {MATCHES[pattern.ignores_case]} %s::text)"
    )
    return Predicate(sql, [f"strict {_steps(path)}", pattern.text])


def _steps(path: Path) -> str:
    """The path in the words of JSON. In strict mode what is missing ends the search: so each step behind a list asks
    first, or one element would hide those beside it.
    """
    steps, behind_list = ["$"], False
    for step in path:
        if isinstance(step, Each):
            steps.append(' ? (@.type() == "array")[*]')
            behind_list = True
        else:
            name = f".{_quoted(step)}"
            steps.append(f" ? (exists (@{name})){name}" if behind_list else name)
    return "".join(steps)


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
